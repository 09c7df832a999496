// The question that every request is asked: could it concern the profiler at all?
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "config/schema/profiling.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// Says "no" only to requests without any mark: no trigger, no session or off cookie, no token.
// "Yes" is a guess that trigger.h and carriers.h then check byte by byte, so it may be wrong, at
// the price of that look. A request without marks costs 5 to 12 instructions per 16 bytes of
// target, Referer and Cookie and 9 a field: some 350 for a browser's request. Immutable. Owner: a
// route's policy. Thread: any.
class MarkScanner {
 public:
  explicit MarkScanner(const config::Trigger& trigger);

  bool mayBeMarked(const RequestHead& head) const;

 private:
  void addName(std::string_view name, uint8_t bit);
  bool endsName(const char* equals) const {
    return (last_[static_cast<unsigned char>(equals[-1])] &
            before_[static_cast<unsigned char>(equals[-2])]) != 0;
  }
  bool mayHoldPair(std::string_view target) const;
  // Whether a name could end in the text at all: a cheaper question, for most targets the last.
  bool mayEndName(const char* at, const char* end) const;

  // One bit a pair name: the bytes with which the name can end as written, escaped or not, before
  // `=`.
  std::array<uint8_t, 256> last_{};
  std::array<uint8_t, 256> before_{};
  char trigger_end_ = '=';  // last byte of the trigger's name; a second `=` never ends one
  bool referer_ = false;
  bool header_ = false;
  bool path_segment_ = false;
};

}  // namespace flamegate::proxy
