// Times of the data path.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace flamegate::proxy {

using Duration = std::chrono::nanoseconds;

// A point on the monotonic clock, in nanoseconds. Zero means "not yet".
struct TimePoint {
  int64_t ns = 0;

  bool set() const { return ns != 0; }
  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;
  friend constexpr TimePoint operator+(TimePoint at, Duration by) { return {at.ns + by.count()}; }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) { return Duration(a.ns - b.ns); }
};

inline TimePoint readClock(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return {at.tv_sec * 1'000'000'000LL + at.tv_nsec};
}

inline TimePoint monotonicNow() { return readClock(CLOCK_MONOTONIC); }

inline int64_t unixMillis() { return readClock(CLOCK_REALTIME).ns / 1'000'000; }

}  // namespace flamegate::proxy
