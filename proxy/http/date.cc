#include "proxy/http/date.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

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

}  // namespace flamegate::proxy
