#include "proxy/http/http1_writer.h"

#include <cstring>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kCrlf = "\r\n";
constexpr size_t kConnectionBytesMax = 96;  // the connection-level lines, but for an upgrade's name

size_t fieldsSize(const FieldList& fields) {
  size_t bytes = 0;
  for (const Field& field : fields) {
    if (field.removed()) continue;
    bytes += field.line().empty() ? field.name().size() + field.value().size() + 4
                                  : field.line().size();
  }
  return bytes;
}

char* put(char* at, std::string_view text) {
  if (text.empty()) return at;  // an empty view may have no address
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

// Copies runs of neighbouring lines that were left as they came.
char* putFields(char* at, const FieldList& fields) {
  std::string_view run;
  for (const Field& field : fields) {
    if (field.removed()) continue;
    const std::string_view line = field.line();
    if (!line.empty() && line.data() == run.data() + run.size()) {
      run = {run.data(), run.size() + line.size()};
      continue;
    }
    at = put(at, run);
    run = line;
    if (!line.empty()) continue;
    at = put(at, field.name());
    at = put(at, ": ");
    at = put(at, field.value());
    at = put(at, kCrlf);
  }
  return put(at, run);
}

}  // namespace

void writeRequestHead(const RequestHead& head, Buffer& out) {
  const size_t bytes_max = head.method_text.size() + head.target.size() + head.upgrade.size() +
                           kConnectionBytesMax + fieldsSize(head.fields);
  char* const start = out.prepare(bytes_max).data();
  char* at = put(start, head.method_text);
  *at++ = ' ';
  if (head.target.starts_with('?')) *at++ = '/';
  at = put(at, head.target);
  at = put(at, " HTTP/1.1\r\n");
  at = putFields(at, head.fields);
  if (head.framing == Framing::Chunked) at = put(at, "Transfer-Encoding: chunked\r\n");
  if (!head.upgrade.empty()) {
    at = put(at, "Connection: Upgrade\r\nUpgrade: ");
    at = put(at, head.upgrade);
    at = put(at, kCrlf);
  }
  at = put(at, kCrlf);
  out.commit(static_cast<size_t>(at - start));
}

void writeResponseHead(const ResponseHead& head, ResponseConnection connection, Buffer& out) {
  const size_t bytes_max = head.reason.size() + head.upgrade.size() + kConnectionBytesMax +
                           fieldsSize(head.fields);
  char* const start = out.prepare(bytes_max).data();
  char* at = put(start, "HTTP/1.1 ");
  at = writeDecimal(at, head.status);
  *at++ = ' ';
  at = put(at, head.reason);
  at = put(at, kCrlf);
  at = putFields(at, head.fields);
  if (head.framing == Framing::Chunked) at = put(at, "Transfer-Encoding: chunked\r\n");
  if (!head.upgrade.empty()) {
    at = put(at, "Connection: Upgrade\r\nUpgrade: ");
    at = put(at, head.upgrade);
    at = put(at, kCrlf);
  } else if (head.status >= 200 && connection.close) {
    at = put(at, "Connection: close\r\n");
  } else if (head.status >= 200 && connection.http10) {
    at = put(at, "Connection: keep-alive\r\n");
  }
  at = put(at, kCrlf);
  out.commit(static_cast<size_t>(at - start));
}

size_t writeChunkLine(uint64_t size, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  char* at = out;
  int shift = 60;
  while (shift > 0 && (size >> shift) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) *at++ = kDigits[(size >> shift) & 15];
  *at++ = '\r';
  *at++ = '\n';
  return static_cast<size_t>(at - out);
}

void writeChunkedEnd(const FieldList* trailers, Buffer& out) {
  const size_t bytes_max = 8 + (trailers != nullptr ? fieldsSize(*trailers) : 0);
  char* const start = out.prepare(bytes_max).data();
  char* at = put(start, "0\r\n");
  if (trailers != nullptr) at = putFields(at, *trailers);
  at = put(at, kCrlf);
  out.commit(static_cast<size_t>(at - start));
}

std::string_view reasonPhrase(uint16_t status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 508: return "Loop Detected";
    default: return {};
  }
}

bool isFieldValueSafe(std::string_view value) {
  for (char c : value) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

}  // namespace flamegate::proxy
