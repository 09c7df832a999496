#include "proxy/filters/inject/meta_facts.h"

#include <optional>

#include "proxy/base/strings.h"
#include "proxy/filters/inject/charset.h"
#include "proxy/filters/inject/html_chars.h"

namespace flamegate::proxy {
namespace {

struct NamedReference {
  std::string_view name;
  char character;
  bool needs_semicolon;
};

// The references that can stand for a character of a policy.
constexpr NamedReference kReferences[] = {
    {"amp", '&', false},  {"quot", '"', false},    {"lt", '<', false},    {"gt", '>', false},
    {"apos", '\'', true}, {"semi", ';', true},     {"colon", ':', true},  {"sol", '/', true},
    {"comma", ',', true}, {"period", '.', true},   {"equals", '=', true}, {"ast", '*', true},
    {"Tab", '\t', true},  {"NewLine", '\n', true}, {"lowbar", '_', true}, {"plus", '+', true},
    {"num", '#', true},   {"quest", '?', true},    {"percnt", '%', true}, {"excl", '!', true}};

int hexValue(char c) {
  if (isAsciiDigit(c)) return c - '0';
  const char lower = toLowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// `text` follows "&#". Appends the character; returns the length read, nothing when there is no
// number. Characters outside ASCII become 0xFF: no policy has a use for them.
std::optional<size_t> decodeNumber(std::string_view text, std::string& out) {
  size_t at = 0;
  const bool hex = !text.empty() && toLowerAscii(text[0]) == 'x';
  if (hex) ++at;
  const size_t digits_at = at;
  uint32_t code = 0;
  for (; at < text.size(); ++at) {
    const int digit = hex ? hexValue(text[at]) : isAsciiDigit(text[at]) ? text[at] - '0' : -1;
    if (digit < 0) break;
    code = code * (hex ? 16U : 10U) + static_cast<uint32_t>(digit);
    if (code > 0x7F) code = 0xFF;
  }
  if (at == digits_at) return std::nullopt;
  out += static_cast<char>(code > 0x7F ? 0xFF : code);
  if (at < text.size() && text[at] == ';') ++at;
  return at;
}

// `text` follows "&" and begins with a letter. Appends what it stands for; returns the length
// read; nothing when it may be a reference that is not known here.
std::optional<size_t> decodeName(std::string_view text, std::string& out) {
  size_t size = 0;
  while (size < text.size() && (isAsciiLetter(text[size]) || isAsciiDigit(text[size]))) ++size;
  const bool semicolon = size < text.size() && text[size] == ';';
  const std::string_view name = text.substr(0, size);
  for (const NamedReference& reference : kReferences) {
    if (reference.name != name) continue;
    const bool equals_follows = size < text.size() && text[size] == '=';
    if (!semicolon && (reference.needs_semicolon || equals_follows)) break;
    out += reference.character;
    return size + (semicolon ? 1 : 0);
  }
  if (semicolon) return std::nullopt;
  out += '&';
  out += name;
  return size;
}

// Character references in an attribute's value (HTML Standard §13.2.5.72).
std::optional<std::string> decodeReferences(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    const size_t mark = value.find('&');
    out += value.substr(0, mark);
    if (mark == std::string_view::npos) break;
    value.remove_prefix(mark + 1);
    std::optional<size_t> read;
    if (!value.empty() && value[0] == '#') {
      read = decodeNumber(value.substr(1), out);
      if (read) ++*read;
    } else if (!value.empty() && isAsciiLetter(value[0])) {
      read = decodeName(value, out);
    } else {
      out += '&';
      read = 0;
    }
    if (!read) return std::nullopt;
    value.remove_prefix(*read);
  }
  return out;
}

}  // namespace

void MetaFacts::Attribute::set(std::string_view text, bool whole) {
  if (present) return;
  present = true;
  complete = whole;
  value = text;
}

void MetaFacts::beginElement() {
  http_equiv_ = {};
  content_ = {};
  charset_ = {};
}

void MetaFacts::attribute(std::string_view name, std::string_view value, bool complete) {
  if (name == "http-equiv") http_equiv_.set(value, complete);
  if (name == "content") content_.set(value, complete);
  if (name == "charset") charset_.set(value, complete);
}

void MetaFacts::endElement() {
  if (charset_.present && !isAsciiCompatible(trimBlanks(charset_.value))) unsafe_charset_ = true;
  if (!http_equiv_.present || !content_.present) return;
  const std::optional<std::string> kind = decodeReferences(http_equiv_.value);
  if (!kind || !http_equiv_.complete) return;
  if (equalIgnoreCase(*kind, "content-type")) {
    if (!isAsciiCompatible(findCharset(content_.value))) unsafe_charset_ = true;
  } else if (equalIgnoreCase(*kind, "content-security-policy")) {
    notePolicy();
  }
}

void MetaFacts::notePolicy() {
  std::optional<std::string> policy;
  if (content_.complete && policies_.size() < kPoliciesMax)
    policy = decodeReferences(content_.value);
  if (policy) {
    policies_.push_back(std::move(*policy));
  } else {
    unreadable_policy_ = true;
  }
}

}  // namespace flamegate::proxy
