// What a client may do with the profiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flamegate::agent {

enum class Right : unsigned char { View = 1, Trigger = 2, Manage = 4 };

// A set of rights; none implies another. A value.
class Rights {
 public:
  constexpr Rights() = default;
  constexpr Rights(Right right) : bits_(static_cast<unsigned char>(right)) {}

  static constexpr Rights all() { return Rights(Right::View) | Right::Trigger | Right::Manage; }

  constexpr bool has(Right right) const { return (bits_ & static_cast<unsigned char>(right)) != 0; }
  constexpr bool none() const { return bits_ == 0; }

  friend constexpr Rights operator|(Rights a, Rights b) {
    Rights both;
    both.bits_ = static_cast<unsigned char>(a.bits_ | b.bits_);
    return both;
  }
  Rights& operator|=(Rights other) { return *this = *this | other; }
  friend constexpr bool operator==(Rights, Rights) = default;

 private:
  unsigned char bits_ = 0;
};

// "view", "trigger" or "manage".
std::optional<Right> parseRight(std::string_view name);

// Names joined by commas, in the order view, trigger, manage; empty for none.
std::string formatRights(Rights rights);
// Nothing when a name is unknown or empty. An empty text is no rights.
std::optional<Rights> parseRights(std::string_view names);

}  // namespace flamegate::agent
