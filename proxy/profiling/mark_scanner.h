// The question that every request is asked: could it concern the profiler at all?
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "config/schema/profiling.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// Our cookies' names and the trigger's value go on from these letters.
inline constexpr std::string_view kMarkNeedle = "flameg";

// One byte in all places of a block, as memory that vector instructions read.
struct RepeatedByte {
  constexpr explicit RepeatedByte(char byte) { bytes.fill(byte); }
  alignas(32) std::array<char, 32> bytes{};
};

// What is looked for in a head, ready for comparisons.
struct SoughtBytes {
  RepeatedByte trigger_end{'='};  // last byte of the trigger's name; a second `=` never ends one
  RepeatedByte token_end{'='};
  RepeatedByte equals{'='};
  RepeatedByte percent{'%'};
  RepeatedByte needle_first{kMarkNeedle[0]};
  RepeatedByte needle_second{kMarkNeedle[1]};
};

// Says "no" only to requests without any mark: no trigger, no session or off cookie, no token.
// "Yes" is a guess that trigger.h and carriers.h then check byte by byte, so it may be wrong, at
// the price of that look. The first look takes whole blocks of the target, Referer and Cookie for
// suspicious or not; only a suspicious request gets the second. Immutable. Owner: a route's policy.
// Thread: any.
class MarkScanner {
 public:
  explicit MarkScanner(const config::Trigger& trigger);

  bool mayBeMarked(const RequestHead& head) const { return look_(*this, head); }

 private:
  void addName(std::string_view name, uint8_t bit);
  bool endsName(const char* equals) const {
    return (last_[static_cast<unsigned char>(equals[-1])] &
            before_[static_cast<unsigned char>(equals[-2])]) != 0;
  }
  using Look = bool (*)(const MarkScanner& scanner, const RequestHead& head);
  static bool lookTwice(const MarkScanner& scanner, const RequestHead& head);
  static bool lookOnce(const MarkScanner& scanner, const RequestHead& head);
  Look chooseLook() const;
  // The second look, byte by byte.
  bool looksMarked(const RequestHead& head) const;
  bool mayHoldPair(std::string_view target) const;

  // One bit a pair name: the bytes with which the name can end as written, escaped or not, before
  // `=`.
  std::array<uint8_t, 256> last_{};
  std::array<uint8_t, 256> before_{};
  SoughtBytes sought_;
  bool referer_ = false;
  bool header_ = false;
  bool path_segment_ = false;
  Look look_;  // what the processor can do
};

}  // namespace flamegate::proxy
