// Writes HTTP/1 heads and chunk framing. Never lets CR, LF or NUL through in a field of our own.
#pragma once

#include <string_view>

#include "proxy/base/buffer.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// A request for the next hop. Content-Length stays as it came; `chunked` framing gets its field back,
// and so does an upgrade.
void writeRequestHead(const RequestHead& head, Buffer& out);

// What the connection to the client is going to be.
struct ResponseConnection {
  bool close = false;
  bool http10 = false;  // the client speaks HTTP/1.0
};

// A response; `head.framing` says what is announced.
void writeResponseHead(const ResponseHead& head, ResponseConnection connection, Buffer& out);

// "SIZE CRLF" for a chunk, at most 18 bytes; returns its length.
size_t writeChunkLine(uint64_t size, char* out);

// The last chunk with its trailer section; `trailers` may be null.
void writeChunkedEnd(const FieldList* trailers, Buffer& out);

// The standard reason phrase of a status (RFC 9110 §15); empty for unknown ones.
std::string_view reasonPhrase(uint16_t status);

// Whether a value may stand in a field: no CR, LF or NUL (RFC 9110 §5.5).
bool isFieldValueSafe(std::string_view value);

}  // namespace flamegate::proxy
