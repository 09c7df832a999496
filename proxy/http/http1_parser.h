// HTTP/1 message heads (RFC 9112): bytes in, heads out. No I/O, no state between calls.
#pragma once

#include <string>
#include <string_view>

#include "proxy/http/head.h"

namespace flamegate::proxy {

// Why a head was refused. The names appear in the access log.
enum class Http1Fault : uint8_t {
  None,
  RequestLine,         // not "METHOD SP target SP HTTP/x.y CRLF"
  Method,              // longer than 32 bytes, or not a token
  Target,              // a form that RFC 9112 §3.2 does not give this method, or a forbidden byte
  TargetTooLong,       // RFC 9112 §3: 414
  Version,             // a major version other than 1: 505
  StatusLine,          // not "HTTP/1.x SP 3DIGIT SP reason CRLF"
  LineEnd,             // a bare CR or LF (§2.2)
  FieldName,           // not a token, blank before the colon, or no colon (§5.1)
  FieldValue,          // a control character (RFC 9110 §5.5)
  Folded,              // obs-fold (§5.2)
  TooManyFields,       // 431
  HeadTooLarge,        // 431
  Host,                // none, more than one, or not a host (§3.2)
  ContentLength,       // not one decimal number (§6.3)
  TransferEncoding,    // `chunked` missing at the end, twice, or in HTTP/1.0 (§6.1)
  TransferCoding,      // a coding before `chunked` that is not served: 501
  LengthAndEncoding,   // both Content-Length and Transfer-Encoding (§6.3)
  ChunkSize,           // a chunk line or its end is malformed (§7.1)
  ChunkExtensions,     // more than 4 KiB of them in one body
  Trailers,            // malformed or too large trailer section
};

// "too-many-fields", …
std::string_view http1FaultName(Http1Fault fault);
// The status with which a server answers a request with this fault.
uint16_t http1FaultStatus(Http1Fault fault);

// The longest method that is served, in any version of HTTP.
inline constexpr size_t kMethodBytesMax = 32;

struct Http1Limits {
  size_t head_bytes_max = 64 * 1024;
  size_t fields_max = 100;
  size_t target_bytes_max = 16 * 1024;
};

struct ParseResult {
  enum class State : uint8_t { Complete, Incomplete, Bad };
  State state = State::Incomplete;
  Http1Fault fault = Http1Fault::None;
  size_t head_bytes = 0;  // when complete: from the beginning of the input to the end of the head
};

// Parses a request head at the beginning of `bytes`. Up to four empty lines before it are skipped
// (§2.2). `seen` is how many of the bytes an earlier incomplete call has had, so that a head which
// comes byte by byte is not parsed anew for each. When complete, `head` has its connection-level
// fields (RFC 9110 §7.6.1) marked as removed and what they said in its members; its views point into
// `bytes`.
ParseResult parseRequestHead(std::string_view bytes, size_t seen, const Http1Limits& limits,
                             RequestHead& head);

// The same for a response to a request with `method`. Strict; see repairResponseHead.
ParseResult parseResponseHead(std::string_view bytes, size_t seen, Method method,
                              const Http1Limits& limits, ResponseHead& head);

// Servers in the field fold lines, end them with a bare LF, put blanks before the colon or hold a
// bare CR. A recipient may accept that in a response (§2.2, §5.1, §5.2) if it passes on a strict form.
// Returns the head in that form when `bytes` begins with a complete head, with `head_bytes` the size of the original;
// empty when it is incomplete.
std::string repairResponseHead(std::string_view bytes, size_t& head_bytes);

// The fields of a trailer section, up to and including its final empty line. Those that must not come in trailers
// (framing, routing, authentication: RFC 9110 §6.5.1) are marked as removed.
Http1Fault parseTrailers(std::string_view section, const Http1Limits& limits, FieldList& fields);

// Marks the fields that must not come in trailers, in any version of HTTP (RFC 9110 §6.5.1).
void removeForbiddenTrailers(FieldList& fields);

// Other for methods that have no id.
Method methodOf(std::string_view text);

// Whether `text` is a Host value: uri-host [":" port] (RFC 9110 §7.2), not empty, no userinfo.
bool isAuthority(std::string_view text);

}  // namespace flamegate::proxy
