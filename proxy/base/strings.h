// Small text functions: ASCII case, trimming, numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace flamegate::proxy {

constexpr char toLowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

constexpr bool equalIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (toLowerAscii(a[i]) != toLowerAscii(b[i])) return false;
  }
  return true;
}

constexpr bool startsWithIgnoreCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equalIgnoreCase(text.substr(0, prefix.size()), prefix);
}

// Without blanks and tabs at both ends (OWS, RFC 9110 §5.6.3).
constexpr std::string_view trimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// 1 to 19 digits without sign; nothing on anything else.
constexpr std::optional<uint64_t> parseDecimal(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

// Writes the decimal digits of `value` to `out` (room for 20) and returns the end.
inline char* writeDecimal(char* out, uint64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) *out++ = digits[--count];
  return out;
}

// Calls `each(element)` for the elements of a comma-separated list field, trimmed, empty ones left
// out (RFC 9110 §5.6.1.2). `each` returns false to stop.
template <typename Each>
constexpr void forEachElement(std::string_view list, Each each) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view element = trimBlanks(list.substr(0, comma));
    if (!element.empty() && !each(element)) return;
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// Whether the comma-separated list holds the element, compared without case.
constexpr bool listContains(std::string_view list, std::string_view wanted) {
  bool found = false;
  forEachElement(list, [&](std::string_view element) {
    found = equalIgnoreCase(element, wanted);
    return !found;
  });
  return found;
}

}  // namespace flamegate::proxy
