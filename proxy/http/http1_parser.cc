#include "proxy/http/http1_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "proxy/base/strings.h"
#include "proxy/http/scan.h"

namespace flamegate::proxy {
namespace {

using State = ParseResult::State;

constexpr int kEmptyLinesMax = 4;

ParseResult bad(Http1Fault fault) { return {State::Bad, fault, 0}; }

// A position in the head that is being parsed.
struct Cursor {
  const char* at;
  const char* end;

  size_t left() const { return static_cast<size_t>(end - at); }
};

// Whether the bytes from `from` on may hold the empty line that ends a head. A head that came in
// part is parsed again only when they do.
bool mayHoldHeadEnd(std::string_view bytes, size_t seen) {
  const size_t from = seen > 3 ? seen - 3 : 0;
  return bytes.find("\n\r\n", from) != std::string_view::npos ||
         bytes.find("\n\n", from) != std::string_view::npos;
}

// What the fields say about the connection and the length of the body.
struct MessageFacts {
  std::string_view content_length;
  std::string_view transfer_encoding;
  std::string_view upgrade;
  size_t host_at = 0;
  uint8_t content_lengths = 0;
  uint8_t transfer_encodings = 0;
  uint8_t hosts = 0;
  bool content_length_repeated = false;  // all values are the same text
  bool expects_continue = false;
  bool has_connection = false;
};

void noteField(const FieldList& fields, size_t at, MessageFacts& facts) {
  const Field& field = fields[at];
  const auto bump = [](uint8_t& count) { count = static_cast<uint8_t>(std::min(count + 1, 2)); };
  switch (field.id()) {
    case HeaderId::ContentLength:
      facts.content_length_repeated =
          facts.content_lengths == 0 ||
          (facts.content_length_repeated && facts.content_length == field.value());
      facts.content_length = field.value();
      bump(facts.content_lengths);
      break;
    case HeaderId::TransferEncoding:
      facts.transfer_encoding = field.value();
      bump(facts.transfer_encodings);
      break;
    case HeaderId::Host:
      facts.host_at = at;
      bump(facts.hosts);
      break;
    case HeaderId::Connection: facts.has_connection = true; break;
    case HeaderId::Upgrade: facts.upgrade = field.value(); break;
    case HeaderId::Expect:
      facts.expects_continue = equalIgnoreCase(field.value(), "100-continue");
      break;
    default: break;
  }
}

constexpr bool notable(HeaderId id) {
  return id >= HeaderId::Connection && id <= HeaderId::Expect;
}

// Parses field lines up to and including the empty line. On success the cursor stands after it.
// `facts` may be null.
ParseResult parseFields(Cursor& cursor, size_t fields_max, FieldList& fields, MessageFacts* facts) {
  const char* at = cursor.at;
  const char* const end = cursor.end;
  for (;;) {
    if (end - at < 2) return {};
    if (at[0] == '\r') {
      if (at[1] != '\n') return bad(Http1Fault::LineEnd);
      cursor.at = at + 2;
      return {State::Complete, Http1Fault::None, 0};
    }
    if (at[0] == ' ' || at[0] == '\t') return bad(Http1Fault::Folded);
    if (at[0] == '\n') return bad(Http1Fault::LineEnd);
    const char* const line = at;
    const char* const colon = findNameEnd(at, end);
    if (colon == end) return {};
    if (*colon != ':') return bad(Http1Fault::FieldName);
    const std::string_view name(line, static_cast<size_t>(colon - line));
    at = colon + 1;
    while (at != end && (*at == ' ' || *at == '\t')) ++at;
    const char* const value = at;
    for (at = findControl(at, end); at != end && *at == '\t'; at = findControl(at + 1, end)) {
    }
    if (end - at < 2) return {};
    if (at[0] != '\r' || at[1] != '\n') {
      return bad(at[0] == '\r' || at[0] == '\n' ? Http1Fault::LineEnd : Http1Fault::FieldValue);
    }
    const char* value_end = at;
    while (value_end != value && (value_end[-1] == ' ' || value_end[-1] == '\t')) --value_end;
    at += 2;
    // A known name is a token; another one has to prove it.
    const HeaderId id = findHeaderId(name);
    if (id == HeaderId::Other && !isToken(name)) return bad(Http1Fault::FieldName);
    if (name.size() > UINT16_MAX || fields.size() >= std::min(fields_max, kFieldsMax)) {
      return bad(Http1Fault::TooManyFields);
    }
    fields.addParsed({line, static_cast<size_t>(at - line)}, name.size(),
                     {value, static_cast<size_t>(value_end - value)}, id);
    if (facts != nullptr && notable(id)) noteField(fields, fields.size() - 1, *facts);
  }
}

// Marks the fields that belong to this connection alone (RFC 9110 §7.6.1), those that Connection
// names, too. Framing and Host cannot be named away. Reports `close` and `keep-alive`.
struct ConnectionOptions {
  bool close = false;
  bool keep_alive = false;
  bool upgrade = false;
};

void removeNamed(FieldList& fields, std::string_view name) {
  const HeaderId id = findHeaderId(name);
  if (id == HeaderId::Host || id == HeaderId::ContentLength || id == HeaderId::TransferEncoding) {
    return;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (equalIgnoreCase(fields[i].name(), name)) fields.remove(i);
  }
}

ConnectionOptions takeConnectionFields(FieldList& fields) {
  ConnectionOptions options;
  for (size_t i = 0; i < fields.size(); ++i) {
    const HeaderId id = fields[i].id();
    if (id < HeaderId::Connection || id > HeaderId::Http2Settings) continue;
    if (id == HeaderId::Trailer) continue;
    fields.remove(i);
    if (id != HeaderId::Connection) continue;
    forEachElement(fields[i].value(), [&](std::string_view option) {
      if (equalIgnoreCase(option, "close")) {
        options.close = true;
      } else if (equalIgnoreCase(option, "keep-alive")) {
        options.keep_alive = true;
      } else if (equalIgnoreCase(option, "upgrade")) {
        options.upgrade = true;
      } else {
        removeNamed(fields, option);
      }
      return true;
    });
  }
  return options;
}

bool hasConnectionFields(const FieldList& fields) {
  return fields.has(HeaderId::Connection) || fields.has(HeaderId::KeepAlive) ||
         fields.has(HeaderId::ProxyConnection) || fields.has(HeaderId::Te) ||
         fields.has(HeaderId::TransferEncoding) || fields.has(HeaderId::Upgrade) ||
         fields.has(HeaderId::Http2Settings);
}

// Which fault a Transfer-Encoding value has; none for exactly `chunked`.
Http1Fault checkTransferEncoding(std::string_view value) {
  if (equalIgnoreCase(value, "chunked")) return Http1Fault::None;
  size_t chunked = 0;
  bool last_is_chunked = false;
  forEachElement(value, [&](std::string_view coding) {
    last_is_chunked = equalIgnoreCase(coding, "chunked");
    chunked += last_is_chunked ? 1U : 0U;
    return true;
  });
  const bool only_coding = value.find(',') == std::string_view::npos;
  if (!last_is_chunked || chunked != 1 || only_coding || value.front() == ',' ||
      value.back() == ',') {
    return Http1Fault::TransferEncoding;
  }
  return Http1Fault::TransferCoding;
}

Http1Fault applyRequestFraming(const MessageFacts& facts, RequestHead& head) {
  if (facts.transfer_encodings > 0) {
    if (facts.content_lengths > 0) return Http1Fault::LengthAndEncoding;
    if (facts.transfer_encodings > 1 || head.minor_version == 0 ||
        facts.transfer_encoding.empty()) {
      return Http1Fault::TransferEncoding;
    }
    const Http1Fault fault = checkTransferEncoding(facts.transfer_encoding);
    if (fault != Http1Fault::None) return fault;
    head.framing = Framing::Chunked;
    return Http1Fault::None;
  }
  head.framing = Framing::None;
  if (facts.content_lengths == 0) return Http1Fault::None;
  const auto length = parseDecimal(facts.content_length);
  if (facts.content_lengths > 1 || !length) return Http1Fault::ContentLength;
  head.content_length = *length;
  // `Content-Length: 0` is kept as a field, but there is no body to wait for.
  head.framing = *length > 0 ? Framing::Length : Framing::None;
  return Http1Fault::None;
}

// scheme "://" authority path-and-query; the scheme is http or https (RFC 9112 §3.2.2).
bool splitAbsoluteForm(std::string_view target, std::string_view& authority,
                       std::string_view& rest) {
  size_t scheme = 0;
  if (startsWithIgnoreCase(target, "http://")) scheme = 7;
  if (startsWithIgnoreCase(target, "https://")) scheme = 8;
  if (scheme == 0) return false;
  const size_t path = target.find_first_of("/?", scheme);
  authority = target.substr(scheme, path == std::string_view::npos ? path : path - scheme);
  rest = path == std::string_view::npos ? std::string_view() : target.substr(path);
  return true;
}

// Gives the target its origin form. An absolute-form target's authority replaces Host.
Http1Fault applyTarget(RequestHead& head, const MessageFacts& facts) {
  const std::string_view target = head.target;
  if (head.method == Method::Connect) {
    const size_t colon = target.rfind(':');
    if (!isAuthority(target) || colon == std::string_view::npos || colon + 1 == target.size()) {
      return Http1Fault::Target;
    }
    return Http1Fault::None;
  }
  if (target.front() == '/') return Http1Fault::None;
  if (target == "*") return head.method == Method::Options ? Http1Fault::None : Http1Fault::Target;
  std::string_view authority;
  std::string_view rest;
  if (!splitAbsoluteForm(target, authority, rest)) return Http1Fault::Target;
  if (!isAuthority(authority)) return Http1Fault::Host;
  head.absolute_form = true;
  head.authority = authority;
  if (facts.hosts == 1) head.fields.setValue(facts.host_at, authority);
  if (rest.empty()) {
    // RFC 9112 §3.2.4: an OPTIONS for the whole server; else §3.2.1: an empty path is "/".
    head.target = head.method == Method::Options ? "*" : "/";
    return Http1Fault::None;
  }
  head.target = rest;
  return Http1Fault::None;
}

Http1Fault applyHost(const MessageFacts& facts, RequestHead& head) {
  if (facts.hosts > 1 || (facts.hosts == 0 && head.minor_version == 1)) return Http1Fault::Host;
  if (facts.hosts == 0) return Http1Fault::None;
  const std::string_view host = head.fields[facts.host_at].value();
  if (!isAuthority(host)) return Http1Fault::Host;
  head.authority = host;
  return Http1Fault::None;
}

Http1Fault finishRequest(const MessageFacts& facts, RequestHead& head) {
  Http1Fault fault = applyHost(facts, head);
  if (fault == Http1Fault::None) fault = applyTarget(head, facts);
  if (fault == Http1Fault::None) fault = applyRequestFraming(facts, head);
  if (fault != Http1Fault::None) return fault;
  ConnectionOptions options;
  if (hasConnectionFields(head.fields)) options = takeConnectionFields(head.fields);
  const bool http11 = head.minor_version == 1;
  head.keep_alive = http11 ? !options.close : options.keep_alive && !options.close;
  head.expects_continue = facts.expects_continue && http11;
  // Upgrade is ignored in HTTP/1.0 (RFC 9110 §7.8); h2c is never passed on.
  head.upgrade = {};
  if (options.upgrade && http11 && !facts.upgrade.empty() && !listContains(facts.upgrade, "h2c")) {
    head.upgrade = facts.upgrade;
  }
  return Http1Fault::None;
}

// METHOD SP target SP HTTP/1.x CRLF
ParseResult parseRequestLine(Cursor& cursor, const Http1Limits& limits, RequestHead& head) {
  const char* at = cursor.at;
  const char* const end = cursor.end;
  const char* blank = findControlOrBlank(at, std::min(end, at + kMethodBytesMax + 1));
  if (blank == end) return {};
  if (blank - at > static_cast<ptrdiff_t>(kMethodBytesMax)) return bad(Http1Fault::Method);
  head.method_text = {at, static_cast<size_t>(blank - at)};
  if (*blank != ' ' || head.method_text.empty()) return bad(Http1Fault::RequestLine);
  head.method = methodOf(head.method_text);
  if (head.method == Method::Other && !isToken(head.method_text)) {
    return bad(Http1Fault::RequestLine);
  }
  const char* const target = blank + 1;
  blank = findControlOrBlank(target, end);
  if (static_cast<size_t>(blank - target) > limits.target_bytes_max) {
    return bad(Http1Fault::TargetTooLong);
  }
  if (blank == end) return {};
  head.target = {target, static_cast<size_t>(blank - target)};
  if (*blank != ' ' || head.target.empty()) return bad(Http1Fault::RequestLine);
  if (head.target.find('#') != std::string_view::npos) return bad(Http1Fault::Target);
  const char* const version = blank + 1;
  if (end - version < 10) {
    const size_t have = std::min<size_t>(static_cast<size_t>(end - version), 5);
    if (std::memcmp(version, "HTTP/", have) != 0) return bad(Http1Fault::RequestLine);
    return {};
  }
  if (std::memcmp(version, "HTTP/", 5) != 0 || version[6] != '.') {
    return bad(Http1Fault::RequestLine);
  }
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!digit(version[5]) || !digit(version[7])) return bad(Http1Fault::RequestLine);
  if (version[8] != '\r' || version[9] != '\n') {
    return bad(version[8] == '\n' || version[8] == '\r' ? Http1Fault::LineEnd
                                                        : Http1Fault::RequestLine);
  }
  if (version[5] != '1') return bad(Http1Fault::Version);
  head.minor_version = version[7] == '0' ? 0 : 1;
  cursor.at = version + 10;
  return {State::Complete, Http1Fault::None, 0};
}

// What an incomplete parse means given how much has come.
ParseResult incomplete(std::string_view bytes, const Http1Limits& limits) {
  if (bytes.size() < limits.head_bytes_max) return {};
  const bool in_first_line = bytes.find('\n') == std::string_view::npos;
  return bad(in_first_line ? Http1Fault::TargetTooLong : Http1Fault::HeadTooLarge);
}

// HTTP/1.x SP 3DIGIT SP [reason] CRLF
ParseResult parseStatusLine(Cursor& cursor, ResponseHead& head) {
  const char* at = cursor.at;
  const char* const line_end = findControl(at, cursor.end);
  const char* eol = line_end;
  while (eol != cursor.end && *eol == '\t') eol = findControl(eol + 1, cursor.end);
  if (cursor.end - eol < 2) return {};
  if (eol[0] != '\r' || eol[1] != '\n') return bad(Http1Fault::StatusLine);
  const std::string_view line(at, static_cast<size_t>(eol - at));
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || line[8] != ' ') {
    return bad(Http1Fault::StatusLine);
  }
  const auto status = parseDecimal(line.substr(9, 3));
  if (!status || *status < 100 || (line.size() > 12 && line[12] != ' ') || line[7] < '0' ||
      line[7] > '9') {
    return bad(Http1Fault::StatusLine);
  }
  head.status = static_cast<uint16_t>(*status);
  head.minor_version = line[7] == '0' ? 0 : 1;
  head.reason = line.size() > 13 ? line.substr(13) : std::string_view();
  cursor.at = eol + 2;
  return {State::Complete, Http1Fault::None, 0};
}

// RFC 9112 §6.3, for a response.
Http1Fault applyResponseFraming(const MessageFacts& facts, Method method, ResponseHead& head) {
  if (facts.content_lengths > 0 && facts.transfer_encodings > 0) {
    return Http1Fault::LengthAndEncoding;
  }
  if (facts.content_lengths > 0) {
    const auto length = parseDecimal(facts.content_length);
    if (!length || !facts.content_length_repeated) return Http1Fault::ContentLength;
    head.content_length = *length;
  }
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304 ||
                        method == Method::Head;
  if (bodiless) {
    head.framing = Framing::None;
    return Http1Fault::None;
  }
  if (facts.transfer_encodings > 0) {
    if (facts.transfer_encodings > 1) return Http1Fault::TransferEncoding;
    const Http1Fault fault = checkTransferEncoding(facts.transfer_encoding);
    if (fault != Http1Fault::None) return fault;
    head.framing = Framing::Chunked;
    return Http1Fault::None;
  }
  if (facts.content_lengths == 0) {
    head.framing = Framing::UntilClose;
  } else {
    head.framing = head.content_length > 0 ? Framing::Length : Framing::None;
  }
  return Http1Fault::None;
}

// Leaves one Content-Length of equal ones, and none where RFC 9110 §8.6 forbids it.
void tidyContentLength(const MessageFacts& facts, ResponseHead& head) {
  const bool forbidden = head.status < 200 || head.status == 204;
  if (facts.content_lengths == 0 || (facts.content_lengths == 1 && !forbidden)) return;
  bool kept = forbidden;
  for (size_t i = 0; i < head.fields.size(); ++i) {
    if (head.fields[i].id() != HeaderId::ContentLength) continue;
    if (kept) head.fields.remove(i);
    kept = true;
  }
}

}  // namespace

Method methodOf(std::string_view text) {
  switch (text.size()) {
    case 3:
      if (text == "GET") return Method::Get;
      if (text == "PUT") return Method::Put;
      break;
    case 4:
      if (text == "POST") return Method::Post;
      if (text == "HEAD") return Method::Head;
      break;
    case 5:
      if (text == "PATCH") return Method::Patch;
      if (text == "TRACE") return Method::Trace;
      break;
    case 6:
      if (text == "DELETE") return Method::Delete;
      break;
    case 7:
      if (text == "OPTIONS") return Method::Options;
      if (text == "CONNECT") return Method::Connect;
      break;
    default: break;
  }
  return Method::Other;
}

std::string_view http1FaultName(Http1Fault fault) {
  constexpr std::string_view kNames[] = {
      "none", "request-line", "method", "target", "target-too-long", "version", "status-line",
      "line-end", "field-name", "field-value", "folded", "too-many-fields", "head-too-large",
      "host", "content-length", "transfer-encoding", "transfer-coding", "length-and-encoding",
      "chunk-size", "chunk-extensions", "trailers"};
  return kNames[static_cast<size_t>(fault)];
}

uint16_t http1FaultStatus(Http1Fault fault) {
  switch (fault) {
    case Http1Fault::TargetTooLong: return 414;
    case Http1Fault::TooManyFields:
    case Http1Fault::HeadTooLarge: return 431;
    case Http1Fault::Method:
    case Http1Fault::TransferCoding: return 501;
    case Http1Fault::Version: return 505;
    default: return 400;
  }
}

bool isAuthority(std::string_view text) {
  if (text.empty() || text.size() > 1024) return false;
  size_t at = 0;
  if (text.front() == '[') {
    at = text.find(']');
    if (at == std::string_view::npos || at < 3) return false;
    for (char c : text.substr(1, at - 1)) {
      const bool hex = (c >= '0' && c <= '9') || (toLowerAscii(c) >= 'a' && toLowerAscii(c) <= 'f');
      if (!hex && c != ':' && c != '.') return false;
    }
    ++at;
  } else {
    constexpr std::string_view kOthers = "-._~!$&'()*+;=%";
    for (; at < text.size() && text[at] != ':'; ++at) {
      const char c = text[at];
      const bool alnum = (c >= '0' && c <= '9') || (toLowerAscii(c) >= 'a' && toLowerAscii(c) <= 'z');
      if (!alnum && kOthers.find(c) == std::string_view::npos) return false;
    }
    if (at == 0) return false;
  }
  if (at == text.size()) return true;
  if (text[at] != ':') return false;
  const std::string_view port = text.substr(at + 1);
  const auto number = parseDecimal(port);
  return port.empty() || (number && *number <= 65535);
}

ParseResult parseRequestHead(std::string_view bytes, size_t seen, const Http1Limits& limits,
                             RequestHead& head) {
  if (seen > 0 && !mayHoldHeadEnd(bytes, seen)) return incomplete(bytes, limits);
  Cursor cursor{bytes.data(), bytes.data() + bytes.size()};
  for (int i = 0; i < kEmptyLinesMax && cursor.left() >= 2 && cursor.at[0] == '\r' &&
                  cursor.at[1] == '\n'; ++i) {
    cursor.at += 2;
  }
  if (cursor.left() == 0 || (cursor.left() == 1 && *cursor.at == '\r')) return {};
  head.fields.clear();
  head.absolute_form = false;
  head.authority = {};
  head.content_length = 0;
  ParseResult result = parseRequestLine(cursor, limits, head);
  MessageFacts facts;
  if (result.state == State::Complete) {
    result = parseFields(cursor, limits.fields_max, head.fields, &facts);
  }
  if (result.state == State::Incomplete) return incomplete(bytes, limits);
  if (result.state == State::Bad) return result;
  result.head_bytes = static_cast<size_t>(cursor.at - bytes.data());
  if (result.head_bytes > limits.head_bytes_max) return bad(Http1Fault::HeadTooLarge);
  const Http1Fault fault = finishRequest(facts, head);
  return fault == Http1Fault::None ? result : bad(fault);
}

ParseResult parseResponseHead(std::string_view bytes, size_t seen, Method method,
                              const Http1Limits& limits, ResponseHead& head) {
  if (seen > 0 && !mayHoldHeadEnd(bytes, seen)) return incomplete(bytes, limits);
  Cursor cursor{bytes.data(), bytes.data() + bytes.size()};
  head.fields.clear();
  head.content_length = 0;
  ParseResult result = parseStatusLine(cursor, head);
  MessageFacts facts;
  if (result.state == State::Complete) {
    result = parseFields(cursor, limits.fields_max, head.fields, &facts);
  }
  if (result.state == State::Incomplete) return incomplete(bytes, limits);
  if (result.state == State::Bad) return result;
  result.head_bytes = static_cast<size_t>(cursor.at - bytes.data());
  if (result.head_bytes > limits.head_bytes_max) return bad(Http1Fault::HeadTooLarge);
  const Http1Fault fault = applyResponseFraming(facts, method, head);
  if (fault != Http1Fault::None) return bad(fault);
  ConnectionOptions options;
  if (hasConnectionFields(head.fields)) options = takeConnectionFields(head.fields);
  head.keep_alive = head.minor_version == 1 ? !options.close : options.keep_alive && !options.close;
  if (head.framing == Framing::UntilClose || (head.minor_version == 0 && facts.transfer_encodings > 0)) {
    head.keep_alive = false;
  }
  head.upgrade = head.status == 101 && options.upgrade ? facts.upgrade : std::string_view();
  tidyContentLength(facts, head);
  return result;
}

std::string repairResponseHead(std::string_view bytes, size_t& head_bytes) {
  std::string out;
  size_t at = 0;
  for (;;) {
    const size_t newline = bytes.find('\n', at);
    if (newline == std::string_view::npos) return {};
    std::string_view line = bytes.substr(at, newline - at);
    at = newline + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    const bool folded = !out.empty() && (line.front() == ' ' || line.front() == '\t');
    if (folded) {
      out.resize(out.size() - 2);  // the CRLF of the line that goes on
      out.push_back(' ');
      line = trimBlanks(line);
    }
    const size_t colon = out.empty() || folded ? std::string_view::npos : line.find(':');
    if (colon != std::string_view::npos) {
      out.append(trimBlanks(line.substr(0, colon)));
      line.remove_prefix(colon);
    }
    for (char c : line) out.push_back(c == '\r' ? ' ' : c);
    out.append("\r\n");
  }
  out.append("\r\n");
  head_bytes = at;
  return out;
}

void removeForbiddenTrailers(FieldList& fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const HeaderId id = fields[i].id();
    const bool forbidden = (id >= HeaderId::Connection && id <= HeaderId::XRealIp) ||
                           id == HeaderId::Authorization || id == HeaderId::Cookie ||
                           id == HeaderId::SetCookie || id == HeaderId::FlamegatePrivate;
    if (forbidden) fields.remove(i);
  }
}

Http1Fault parseTrailers(std::string_view section, const Http1Limits& limits, FieldList& fields) {
  fields.clear();
  if (section.size() > limits.head_bytes_max) return Http1Fault::Trailers;
  Cursor cursor{section.data(), section.data() + section.size()};
  const ParseResult result = parseFields(cursor, limits.fields_max, fields, nullptr);
  if (result.state != State::Complete) return Http1Fault::Trailers;
  removeForbiddenTrailers(fields);
  return Http1Fault::None;
}

}  // namespace flamegate::proxy
