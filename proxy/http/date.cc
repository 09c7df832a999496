#include "proxy/http/date.h"

#include <algorithm>
#include <cstdio>

#include <time.h>

namespace flamegate::proxy {

std::string_view DateCache::text(int64_t unix_seconds) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr size_t kSize = 29;
  if (unix_seconds != second_) {
    second_ = unix_seconds;
    const time_t seconds = unix_seconds;
    tm utc{};
    gmtime_r(&seconds, &utc);
    char text[64];
    std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[utc.tm_wday],
                  utc.tm_mday, kMonths[utc.tm_mon], (utc.tm_year + 1900) % 10000, utc.tm_hour,
                  utc.tm_min, utc.tm_sec);
    std::copy(text, text + kSize, text_);
  }
  return {text_, kSize};
}

std::string_view TimestampCache::text(int64_t unix_ms) {
  constexpr size_t kSecondSize = 19;
  constexpr size_t kSize = kSecondSize + 5;
  const time_t seconds = unix_ms / 1000;
  if (seconds != second_) {
    second_ = seconds;
    tm utc{};
    gmtime_r(&seconds, &utc);
    char text[64];
    const size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    std::copy_n(text, std::min(size, kSecondSize), text_);
  }
  const int64_t ms = unix_ms % 1000;
  char* at = text_ + kSecondSize;
  *at++ = '.';
  *at++ = static_cast<char>('0' + ms / 100);
  *at++ = static_cast<char>('0' + ms / 10 % 10);
  *at++ = static_cast<char>('0' + ms % 10);
  *at++ = 'Z';
  return {text_, kSize};
}

}  // namespace flamegate::proxy
