#include "control/store/record.h"

#include <array>
#include <cstdio>

namespace flamegate::control {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"running", "waiting", "stored", "failed"};
constexpr std::array<std::string_view, 8> kReasons = {"no-upload",   "refused",     "oversized",
                                                      "undecodable", "client-gone", "upstream-lost",
                                                      "store",       "control-lost"};
constexpr std::array<std::string_view, 7> kTriggers = {"query",    "header", "referer", "session",
                                                       "campaign", "path",   "slow"};
constexpr std::array<std::string_view, 3> kModes = {"wall", "cpu", "both"};
constexpr std::array<std::string_view, 2> kKinds = {"request", "continuous"};

template <typename Enum, size_t kSize>
std::optional<Enum> findName(const std::array<std::string_view, kSize>& names,
                             std::string_view name) {
  for (size_t i = 0; i < kSize; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// Takes `digits` decimal digits off the front.
std::optional<int> takeNumber(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool takeChar(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::sys_days> takeDate(std::string_view& text) {
  const auto year = takeNumber(text, 4);
  if (!year || *year < 1970 || !takeChar(text, "-")) return std::nullopt;
  const auto month = takeNumber(text, 2);
  if (!month || !takeChar(text, "-")) return std::nullopt;
  const auto day = takeNumber(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

// hh:mm:ss with a fraction; a leap second (60) runs into the next minute.
std::optional<Millis> takeTimeOfDay(std::string_view& text) {
  const auto hour = takeNumber(text, 2);
  if (!hour || *hour > 23 || !takeChar(text, ":")) return std::nullopt;
  const auto minute = takeNumber(text, 2);
  if (!minute || *minute > 59 || !takeChar(text, ":")) return std::nullopt;
  const auto second = takeNumber(text, 2);
  if (!second || *second > 60) return std::nullopt;
  Millis time =
      std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  if (!takeChar(text, ".")) return time;
  int scale = 100;
  size_t digits = 0;
  while (const auto digit = takeNumber(text, 1)) {
    time += Millis(*digit * scale);
    scale /= 10;
    if (++digits > 9) return std::nullopt;
  }
  return digits == 0 ? std::nullopt : std::optional(time);
}

std::optional<std::chrono::minutes> takeOffset(std::string_view& text) {
  if (takeChar(text, "Zz")) return std::chrono::minutes(0);
  const bool behind = !text.empty() && text.front() == '-';
  if (!takeChar(text, "+-")) return std::nullopt;
  const auto hours = takeNumber(text, 2);
  if (!hours || *hours > 23 || !takeChar(text, ":")) return std::nullopt;
  const auto minutes = takeNumber(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return behind ? -offset : offset;
}

}  // namespace

WallTime systemWallTime() { return std::chrono::floor<Millis>(std::chrono::system_clock::now()); }

std::string_view nameOf(ProfileState state) { return kStates[static_cast<size_t>(state)]; }
std::string_view nameOf(FailReason reason) { return kReasons[static_cast<size_t>(reason)]; }
std::string_view nameOf(Trigger trigger) { return kTriggers[static_cast<size_t>(trigger)]; }
std::string_view nameOf(ProfileMode mode) { return kModes[static_cast<size_t>(mode)]; }
std::string_view nameOf(ProfileKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::optional<ProfileState> findProfileState(std::string_view name) {
  return findName<ProfileState>(kStates, name);
}
std::optional<FailReason> findFailReason(std::string_view name) {
  return findName<FailReason>(kReasons, name);
}
std::optional<Trigger> findTrigger(std::string_view name) {
  return findName<Trigger>(kTriggers, name);
}
std::optional<ProfileMode> findProfileMode(std::string_view name) {
  return findName<ProfileMode>(kModes, name);
}
std::optional<ProfileKind> findProfileKind(std::string_view name) {
  return findName<ProfileKind>(kKinds, name);
}

bool isProfileId(std::string_view id) {
  if (id.size() != kProfileIdSize) return false;
  for (char c : id) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))) return false;
  }
  return true;
}

std::string toRfc3339(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Millis> clock(time - day);
  char text[40];
  const int size = std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text, static_cast<size_t>(size)};
}

std::optional<WallTime> findRfc3339(std::string_view text) {
  const auto date = takeDate(text);
  if (!date || !takeChar(text, "Tt")) return std::nullopt;
  const auto time = takeTimeOfDay(text);
  if (!time) return std::nullopt;
  const auto offset = takeOffset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return WallTime(date->time_since_epoch()) + *time - *offset;
}

}  // namespace flamegate::control
