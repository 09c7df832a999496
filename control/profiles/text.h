// Text as profiles need it: valid UTF-8, and the small pieces of JSON, XML and numbers that the
// exporters write.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flamegate::control {

bool isValidUtf8(std::string_view text);

// The text with U+FFFD in place of each byte that is no part of valid UTF-8, cut at a character's
// border to at most `bytes_max` bytes, "…" included. Sets *cut when something was cut off.
std::string cleanText(std::string_view text, size_t bytes_max, bool* cut);

template <typename Integer>
void appendNumber(std::string* out, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}

// A fixed number of decimals: appendFixed(out, 1.5, 2) writes 1.50.
void appendFixed(std::string* out, double value, int decimals);

// "text" in quotes with JSON's escapes; the text is valid UTF-8.
void appendJsonString(std::string* out, std::string_view text);

// [1,2,3]
template <typename Integer>
void appendJsonArray(std::string* out, const std::vector<Integer>& values) {
  out->push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out->push_back(',');
    appendNumber(out, values[i]);
  }
  out->push_back(']');
}

// Text for XML and HTML, in content and in quoted attributes; characters that XML 1.0 forbids
// become U+FFFD.
void appendXmlText(std::string* out, std::string_view text);

}  // namespace flamegate::control
