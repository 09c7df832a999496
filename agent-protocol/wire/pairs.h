// The `key=value;key=value` grammar that all flamegate-* fields share (SPEC.md R6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace flamegate::agent {

// Longest value of Flamegate-Profile, Flamegate-Ack and Flamegate-Auth, in bytes.
inline constexpr size_t kPairsBytesMax = 512;

// Finds the values of `keys` in `text`; `values` has the same size and order, nullopt where a key
// is absent. Keys that were not asked for are ignored. False when the text is longer than
// `bytes_max`, holds a byte outside `!`…`~`, a pair without `=` or without a name, or one of `keys`
// twice.
bool splitPairs(std::string_view text, std::span<const std::string_view> keys,
                std::span<std::optional<std::string_view>> values,
                size_t bytes_max = kPairsBytesMax);

// 1 to 15 digits without sign or leading zero.
std::optional<uint64_t> parseStrictDecimal(std::string_view text);

// Whether `text` has `size_min` to `size_max` bytes, all letters, digits or one of `marks`.
bool isWord(std::string_view text, size_t size_min, size_t size_max, std::string_view marks);

// Eight lower-case hex digits.
bool isKid(std::string_view text);

}  // namespace flamegate::agent
