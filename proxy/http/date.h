// Texts of the present time of which all but the milliseconds is written once a second.
#pragma once

#include <cstdint>
#include <string_view>

namespace flamegate::proxy {

// The Date field (RFC 9110 §6.6.1). Owner: a worker. Thread: its loop's.
class DateCache {
 public:
  // "Sun, 06 Nov 1994 08:49:37 GMT" for the given Unix second. The view lasts until the next second
  // is asked for.
  std::string_view text(int64_t unix_seconds);

 private:
  int64_t second_ = -1;
  char text_[30] = "";
};

// RFC 3339 with milliseconds. Owner: a worker. Thread: its loop's.
class TimestampCache {
 public:
  // "2026-11-30T22:33:01.123Z" for a time between the years 1970 and 9999. The view lasts until the
  // next call.
  std::string_view text(int64_t unix_ms);

 private:
  int64_t second_ = -1;
  char text_[25] = "";
};

}  // namespace flamegate::proxy
