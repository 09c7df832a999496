#include "agent-protocol/wire/json_fields.h"

#include <array>

namespace flamegate::agent {
namespace {

using nlohmann::json;

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";
constexpr double kNumberMax = 9.0e18;

// Size of the well-formed UTF-8 sequence at the front of `text` (RFC 3629 §4); 0 when there is
// none.
size_t utf8SequenceSize(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t size = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    size = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    size = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    size = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  }
  if (size == 0 || text.size() < size || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return size;
}

std::array<char, 3> percentEncoded(char c) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {'%', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

std::optional<json> parseJsonObject(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

std::string cleanText(std::string_view text, size_t bytes_max) {
  std::string out;
  size_t cut_at = 0;  // where the ellipsis would go
  while (!text.empty()) {
    const size_t size = utf8SequenceSize(text);
    if (size == 0) {
      const auto escape = percentEncoded(text.front());
      out.append(escape.data(), escape.size());
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
    if (out.size() > bytes_max) return out.substr(0, cut_at).append(kEllipsis);
    if (out.size() + kEllipsis.size() <= bytes_max) cut_at = out.size();
  }
  return out;
}

const json* JsonFields::find(const char* key) const {
  const auto at = object_.find(key);
  return at == object_.end() ? nullptr : &*at;
}

void JsonFields::readText(const char* key, size_t bytes_max, std::string& out) {
  const json* value = find(key);
  if (value == nullptr) return;
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr || text->size() > bytes_max) return reject();
  out = *text;
}

void JsonFields::readNumber(const char* key, uint64_t& out) {
  const json* value = find(key);
  if (value == nullptr) return;
  if (value->is_number_unsigned()) {
    out = value->get<uint64_t>();
    return;
  }
  if (!value->is_number_float()) return reject();
  const double number = value->get<double>();
  if (!(number >= 0 && number <= kNumberMax)) return reject();
  out = static_cast<uint64_t>(number);
}

void JsonFields::readNumber(const char* key, std::optional<uint64_t>& out) {
  if (find(key) == nullptr) return;
  uint64_t number = 0;
  readNumber(key, number);
  if (ok_) out = number;
}

void JsonFields::readFlag(const char* key, bool& out) {
  const json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return reject();
  out = value->get<bool>();
}

void JsonFields::readTexts(const char* key, size_t count_max, size_t bytes_max,
                           std::vector<std::string>& out) {
  const json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_array() || value->size() > count_max) return reject();
  for (const json& element : *value) {
    const auto* text = element.get_ptr<const std::string*>();
    if (text == nullptr || text->size() > bytes_max) return reject();
    out.push_back(*text);
  }
}

const json* JsonFields::findObject(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return value;
  reject();
  return nullptr;
}

}  // namespace flamegate::agent
