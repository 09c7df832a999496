// The Date field (RFC 9110 §6.6.1), written once a second.
#pragma once

#include <cstdint>
#include <string_view>

namespace flamegate::proxy {

// Owner: a worker. Thread: its loop's.
class DateCache {
 public:
  // "Sun, 06 Nov 1994 08:49:37 GMT" for the given Unix second. The view lasts until the next second
  // is asked for.
  std::string_view text(int64_t unix_seconds);

 private:
  int64_t second_ = -1;
  char text_[30] = "";
};

}  // namespace flamegate::proxy
