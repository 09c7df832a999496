#include "proxy/http/http2_message.h"

#include <algorithm>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/scan.h"

namespace flamegate::proxy {
namespace {

// Of an entry in a table (RFC 7541 §4.1); what limits count.
constexpr size_t kFieldOverhead = 32;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kColon = ": ";
constexpr std::string_view kCookieJoint = "; ";
constexpr size_t kStatusBytes = 3;

// tchar without upper case (§8.2.1).
constexpr auto kNameBytes = [] {
  std::array<bool, 256> allowed{};
  for (unsigned char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")) {
    allowed[c] = true;
  }
  return allowed;
}();

bool isFieldName(std::string_view name) {
  if (name.empty() || name.size() > UINT16_MAX) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return kNameBytes[static_cast<unsigned char>(c)]; });
}

bool isBlank(char c) { return c == ' ' || c == '\t'; }

bool isFieldContent(std::string_view value) {
  if (value.empty()) return true;
  if (isBlank(value.front()) || isBlank(value.back())) return false;
  const char* const end = value.data() + value.size();
  const char* at = findControl(value.data(), end);
  while (at != end && *at == '\t') at = findControl(at + 1, end);
  return at == end;
}

bool isScheme(std::string_view text) {
  const auto letter = [](char c) { return toLowerAscii(c) >= 'a' && toLowerAscii(c) <= 'z'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

bool isOriginForm(std::string_view path, Method method) {
  if (path == "*") return method == Method::Options;
  const char* const end = path.data() + path.size();
  return path.starts_with('/') && findControlOrBlank(path.data(), end) == end &&
         path.find('#') == std::string_view::npos;
}

bool isConnectionField(HeaderId id) {
  return id == HeaderId::Connection || id == HeaderId::KeepAlive ||
         id == HeaderId::ProxyConnection || id == HeaderId::TransferEncoding ||
         id == HeaderId::Upgrade;
}

bool hasNoContent(uint16_t status, Method method) {
  return status < 200 || status == 204 || status == 304 || method == Method::Head;
}

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

}  // namespace

std::string_view http2FaultName(Http2Fault fault) {
  constexpr std::string_view kNames[] = {
      "",       "pseudo-field",    "field-name",      "field-value",    "connection-field",
      "method", "scheme",          "target",          "host",           "content-length",
      "status", "target-too-long", "too-many-fields", "head-too-large", "connect-protocol"};
  return kNames[static_cast<size_t>(fault)];
}

uint16_t http2FaultStatus(Http2Fault fault) {
  switch (fault) {
    case Http2Fault::TargetTooLong:
      return 414;
    case Http2Fault::TooManyFields:
    case Http2Fault::HeadTooLarge:
      return 431;
    case Http2Fault::Protocol:
      return 501;
    default:
      return 400;
  }
}

// ---- Reading ------------------------------------------------------------------------------------

void Http2BlockReader::add(const HpackField& field) {
  bytes_ += field.name.size() + field.value.size() + kFieldOverhead;
  if (bytes_ > limits_.head_bytes_max) fail(Http2Fault::HeadTooLarge);
  if (fault_ != Http2Fault::None) return;
  if (field.name.starts_with(':')) return addPseudo(field);
  field_seen_ = true;
  const HeaderId id = findHeaderId(field.name);
  if (!isFieldName(field.name)) return fail(Http2Fault::FieldName);
  if (!isFieldContent(field.value)) return fail(Http2Fault::FieldValue);
  if (isConnectionField(id) || (id == HeaderId::Te && !equalIgnoreCase(field.value, "trailers"))) {
    return fail(Http2Fault::ConnectionField);
  }
  if (id == HeaderId::Http2Settings) return;
  cookies_ += id == HeaderId::Cookie ? 1U : 0U;
  addLine(field.name, field.value, id);
}

void Http2BlockReader::addPseudo(const HpackField& field) {
  Text* text = findPseudo(field.name);
  if (text == nullptr || text->set || field_seen_) return fail(Http2Fault::PseudoField);
  *text = {static_cast<uint32_t>(memory_.size()), static_cast<uint32_t>(field.value.size()), true};
  memory_.append(field.value);
}

Http2BlockReader::Text* Http2BlockReader::findPseudo(std::string_view name) {
  if (name == ":method") return &method_;
  if (name == ":path") return &path_;
  if (name == ":scheme") return &scheme_;
  if (name == ":authority") return &authority_;
  if (name == ":status") return &status_;
  if (name == ":protocol") return &protocol_;
  return nullptr;
}

void Http2BlockReader::addLine(std::string_view name, std::string_view value, HeaderId id) {
  if (count_ >= std::min(limits_.fields_max, lines_.size())) {
    return fail(Http2Fault::TooManyFields);
  }
  const size_t bytes = name.size() + kColon.size() + value.size() + kLineEnd.size();
  lines_[count_++] = {static_cast<uint32_t>(memory_.size()), static_cast<uint32_t>(value.size()),
                      static_cast<uint16_t>(name.size()), id};
  char* at = memory_.prepare(bytes).data();
  at = put(at, name);
  at = put(at, kColon);
  at = put(at, value);
  put(at, kLineEnd);
  memory_.commit(bytes);
}

std::string_view Http2BlockReader::view(const Text& text) const {
  return memory_.view().substr(text.begin, text.size);
}

std::string_view Http2BlockReader::valueOf(const Line& line) const {
  return memory_.view().substr(line.begin + line.name_size + kColon.size(), line.value_size);
}

const Http2BlockReader::Line* Http2BlockReader::findLine(HeaderId id) const {
  const auto end = lines_.begin() + static_cast<ptrdiff_t>(count_);
  const auto found =
      std::find_if(lines_.begin(), end, [&](const Line& line) { return line.id == id; });
  return found == end ? nullptr : &*found;
}

// One line in place of the crumbs; only the first of them is left, and says where it is.
void Http2BlockReader::joinCookies() {
  if (cookies_ < 2) return;
  constexpr std::string_view kName = "cookie";
  Line joined{static_cast<uint32_t>(memory_.size()), 0, kName.size(), HeaderId::Cookie};
  // No more than what is held and the joints is written, so that the crumbs do not move meanwhile.
  memory_.prepare(memory_.size() + cookies_ * kCookieJoint.size() + 16);
  memory_.append(kName);
  memory_.append(kColon);
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (lines_[i].id != HeaderId::Cookie) {
      lines_[kept++] = lines_[i];
      continue;
    }
    if (joined.value_size > 0) memory_.append(kCookieJoint);
    memory_.append(valueOf(lines_[i]));
    joined.value_size =
        static_cast<uint32_t>(memory_.size() - joined.begin - kName.size() - kColon.size());
  }
  memory_.append(kLineEnd);
  lines_[kept++] = joined;
  count_ = kept;
}

void Http2BlockReader::moveFields(FieldList& fields) const {
  const char* const base = memory_.view().data();
  fields.clear();
  for (size_t i = 0; i < count_; ++i) {
    const Line& line = lines_[i];
    const size_t value_at = line.name_size + kColon.size();
    fields.addParsed({base + line.begin, value_at + line.value_size + kLineEnd.size()},
                     line.name_size, {base + line.begin + value_at, line.value_size}, line.id);
  }
}

// One decimal number (RFC 9110 §8.6).
Http2Fault Http2BlockReader::takeContentLength(uint64_t& length, bool& present) const {
  present = false;
  for (size_t i = 0; i < count_; ++i) {
    if (lines_[i].id != HeaderId::ContentLength) continue;
    const auto number = parseDecimal(valueOf(lines_[i]));
    if (present || !number) return Http2Fault::ContentLength;
    present = true;
    length = *number;
  }
  return Http2Fault::None;
}

// `:method`, `:scheme`, `:path` and `:protocol` (§8.3.1, §8.5, RFC 8441 §4).
Http2Fault Http2BlockReader::takeMethod(RequestHead& head) const {
  if (status_.set || !method_.set) return Http2Fault::PseudoField;
  head.method_text = view(method_);
  head.method = methodOf(head.method_text);
  const bool token = head.method_text.size() <= kMethodBytesMax && isToken(head.method_text);
  if (head.method == Method::Other && !token) return Http2Fault::Method;
  const bool connect = head.method == Method::Connect;
  if (protocol_.set && !connect) return Http2Fault::PseudoField;
  if (connect && !protocol_.set) {
    return scheme_.set || path_.set ? Http2Fault::PseudoField : Http2Fault::None;
  }
  if (!scheme_.set || !path_.set) return Http2Fault::PseudoField;
  if (!isScheme(view(scheme_))) return Http2Fault::Scheme;
  head.target = view(path_);
  if (head.target.size() > limits_.target_bytes_max) return Http2Fault::TargetTooLong;
  if (!isOriginForm(head.target, head.method)) return Http2Fault::Target;
  if (!protocol_.set) return Http2Fault::None;
  if (view(protocol_) != "websocket") return Http2Fault::Protocol;
  head.method = Method::Get;
  head.method_text = "GET";
  head.upgrade = view(protocol_);
  return Http2Fault::None;
}

// The authority is in `:authority`, in Host, or the same in both.
Http2Fault Http2BlockReader::takeAuthority(RequestHead& head) {
  const Line* host = findLine(HeaderId::Host);
  const Line* const end = lines_.data() + count_;
  const auto is_host = [](const Line& line) { return line.id == HeaderId::Host; };
  if (host != nullptr && std::any_of(host + 1, end, is_host)) return Http2Fault::Authority;
  if (host == nullptr && !authority_.set) return Http2Fault::Authority;
  head.authority = authority_.set ? view(authority_) : valueOf(*host);
  if (!isAuthority(head.authority)) return Http2Fault::Authority;
  if (host != nullptr) {
    return equalIgnoreCase(head.authority, valueOf(*host)) ? Http2Fault::None
                                                           : Http2Fault::Authority;
  }
  return head.fields.add("Host", head.authority, HeaderId::Host) ? Http2Fault::None
                                                                 : Http2Fault::TooManyFields;
}

Http2Fault Http2BlockReader::takeRequest(bool end, RequestHead& head) {
  if (fault_ != Http2Fault::None) return fault_;
  joinCookies();
  moveFields(head.fields);
  head.http2 = true;
  head.upgrade = head.target = {};
  Http2Fault fault = takeMethod(head);
  if (fault == Http2Fault::None) fault = takeAuthority(head);
  bool has_length = false;
  head.content_length = 0;
  if (fault == Http2Fault::None) fault = takeContentLength(head.content_length, has_length);
  if (fault != Http2Fault::None) return fault;
  if (head.method == Method::Connect) head.target = head.authority;
  if (has_length && end && head.content_length > 0) return Http2Fault::ContentLength;
  head.framing = has_length ? Framing::Length : Framing::Chunked;
  if (end || (has_length && head.content_length == 0)) head.framing = Framing::None;
  if (!head.upgrade.empty()) head.framing = Framing::None;
  const Field* expect = head.fields.find(HeaderId::Expect);
  head.expects_continue = expect != nullptr && equalIgnoreCase(expect->value(), "100-continue");
  head.fields.removeAll(HeaderId::Te);
  return Http2Fault::None;
}

Http2Fault Http2BlockReader::takeResponse(bool end, Method method, ResponseHead& head) {
  if (fault_ != Http2Fault::None) return fault_;
  if (!status_.set || method_.set || scheme_.set || path_.set || authority_.set || protocol_.set) {
    return Http2Fault::PseudoField;
  }
  const auto status = parseDecimal(view(status_));
  // §8.6: there is no 101.
  if (!status || status_.size != 3 || *status < 100 || *status == 101 || (*status < 200 && end)) {
    return Http2Fault::Status;
  }
  head.status = static_cast<uint16_t>(*status);
  bool has_length = false;
  head.content_length = 0;
  const Http2Fault fault = takeContentLength(head.content_length, has_length);
  if (fault != Http2Fault::None) return fault;
  const bool bodiless = hasNoContent(head.status, method);
  if (end && !bodiless && head.content_length > 0) return Http2Fault::ContentLength;
  // Without a length, an HTTP/1 client would wait for more.
  if (end && !bodiless && !has_length) addLine("content-length", "0", HeaderId::ContentLength);
  moveFields(head.fields);
  head.reason = reasonPhrase(head.status);
  head.upgrade = {};
  head.framing = has_length ? Framing::Length : Framing::Chunked;
  if (bodiless || end || (has_length && head.content_length == 0)) head.framing = Framing::None;
  if (head.status < 200 || head.status == 204) head.fields.removeAll(HeaderId::ContentLength);
  head.fields.removeAll(HeaderId::Te);
  return Http2Fault::None;
}

Http2Fault Http2BlockReader::takeTrailers(FieldList& fields) {
  if (fault_ != Http2Fault::None) return fault_;
  const bool pseudo =
      method_.set || scheme_.set || path_.set || authority_.set || status_.set || protocol_.set;
  if (pseudo) return Http2Fault::PseudoField;
  moveFields(fields);
  removeForbiddenTrailers(fields);
  return Http2Fault::None;
}

// ---- Writing ------------------------------------------------------------------------------------

// Room for all names at once, so that none moves while others are added.
void Http2BlockWriter::begin(const FieldList& fields, size_t more) {
  size_t bytes = more;
  for (const Field& field : fields) bytes += field.name().size();
  names_.prepare(bytes);
  count_ = 0;
}

void Http2BlockWriter::put(std::string_view name, std::string_view value, bool sensitive) {
  if (count_ < fields_.size()) fields_[count_++] = {name, value, sensitive};
}

std::string_view Http2BlockWriter::copyText(std::string_view text) {
  char* const at = names_.prepare(text.size()).data();
  std::copy(text.begin(), text.end(), at);
  names_.commit(text.size());
  return {at, text.size()};
}

void Http2BlockWriter::putField(const Field& field) {
  const std::string_view name = field.name();
  char* const at = names_.prepare(name.size()).data();
  std::transform(name.begin(), name.end(), at, toLowerAscii);
  names_.commit(name.size());
  put({at, name.size()}, field.value(), field.id() == HeaderId::Authorization);
}

std::span<const HpackField> Http2BlockWriter::request(const RequestHead& head, bool secure) {
  begin(head.fields, head.target.size() + 1);
  const bool tunnel = !head.upgrade.empty();
  const Field* host = head.fields.find(HeaderId::Host);
  put(":method", tunnel ? std::string_view("CONNECT") : head.method_text);
  if (tunnel) put(":protocol", head.upgrade);
  put(":scheme", secure ? "https" : "http");
  put(":authority", host != nullptr ? host->value() : head.authority);
  std::string_view path = head.target;
  if (path.starts_with('?')) {
    const std::string_view slash = copyText("/");
    path = {slash.data(), slash.size() + copyText(head.target).size()};
  }
  put(":path", path);
  bool takes_trailers = false;
  for (const Field& field : head.fields) {
    if (field.id() == HeaderId::Te) takes_trailers = listContains(field.value(), "trailers");
    if (field.removed() || field.id() == HeaderId::Host) continue;
    if (tunnel && equalIgnoreCase(field.name(), "sec-websocket-key")) continue;
    putField(field);
  }
  if (takes_trailers) put("te", "trailers");
  return {fields_.data(), count_};
}

std::span<const HpackField> Http2BlockWriter::response(const ResponseHead& head) {
  begin(head.fields, kStatusBytes);
  const bool tunnel = head.status == 101;
  char digits[20];
  const char* end = writeDecimal(digits, tunnel ? 200 : head.status);
  put(":status", copyText({digits, static_cast<size_t>(end - digits)}));
  for (const Field& field : head.fields) {
    if (field.removed()) continue;
    if (tunnel && equalIgnoreCase(field.name(), "sec-websocket-accept")) continue;
    putField(field);
  }
  return {fields_.data(), count_};
}

std::span<const HpackField> Http2BlockWriter::trailers(const FieldList& fields) {
  begin(fields, 0);
  for (const Field& field : fields) {
    if (!field.removed()) putField(field);
  }
  return {fields_.data(), count_};
}

}  // namespace flamegate::proxy
