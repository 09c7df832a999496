#include "agent-protocol/wire/pairs.h"

#include <algorithm>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"

namespace flamegate::agent {
namespace {

constexpr bool isVisible(char c) { return c >= '!' && c <= '~'; }

constexpr bool isAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool splitPairs(std::string_view text, std::span<const std::string_view> keys,
                std::span<std::optional<std::string_view>> values, size_t bytes_max) {
  CHECK(keys.size() == values.size());
  std::fill(values.begin(), values.end(), std::nullopt);
  if (text.size() > bytes_max || !std::all_of(text.begin(), text.end(), isVisible)) return false;
  while (true) {
    const size_t end = text.find(';');
    const std::string_view pair = text.substr(0, end);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    const auto key = std::find(keys.begin(), keys.end(), pair.substr(0, equals));
    if (key != keys.end()) {
      auto& value = values[static_cast<size_t>(key - keys.begin())];
      if (value) return false;
      value = pair.substr(equals + 1);
    }
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::optional<uint64_t> parseStrictDecimal(std::string_view text) {
  if (text.size() > 15 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  return proxy::parseDecimal(text);
}

bool isWord(std::string_view text, size_t size_min, size_t size_max, std::string_view marks) {
  return text.size() >= size_min && text.size() <= size_max &&
         std::all_of(text.begin(), text.end(), [marks](char c) {
           return isAlphanumeric(c) || marks.find(c) != std::string_view::npos;
         });
}

bool isKid(std::string_view text) {
  return text.size() == 8 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace flamegate::agent
