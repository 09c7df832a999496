// The name of one profile: its time of issue and chance (SPEC.md R1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flamegate::agent {

// 20 characters of [0-9a-z]: 8 for Unix milliseconds in base 36, 12 random. A value.
class ProfileId {
 public:
  static constexpr size_t kSize = 20;

  // All zeros; stands for "none yet".
  ProfileId() { text_.fill('0'); }

  // `random` should be 128 unpredictable bits; 62 of them end up in the id.
  static ProfileId create(int64_t unix_ms, const std::array<uint64_t, 2>& random);
  // With chance from the kernel.
  static ProfileId issue(int64_t unix_ms);
  static std::optional<ProfileId> parse(std::string_view text);

  std::string_view text() const { return {text_.data(), text_.size()}; }
  // When it was issued, as the text claims.
  int64_t unixMillis() const;
  bool none() const { return *this == ProfileId(); }

  friend bool operator==(const ProfileId&, const ProfileId&) = default;
  friend auto operator<=>(const ProfileId&, const ProfileId&) = default;

 private:
  std::array<char, kSize> text_;
};

}  // namespace flamegate::agent
