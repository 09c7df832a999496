#include "proxy/profiling/mark_scanner.h"

#include "proxy/base/strings.h"
#include "proxy/profiling/query.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flamegate::proxy {
namespace {

constexpr uint8_t kTriggerBit = 1;
constexpr uint8_t kTokenBit = 2;

#ifdef __SSE2__
__m128i load(const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// Wherever `flameg` begins, its bytes 4 and 5 (`eg`) or 3 and 4 (`me`) fill a 16-bit lane. These two differ
// in two bits only, so that one comparison without those bits finds both.
__m128i flamegLanes(const char* at) {
  const __m128i common_bits = _mm_set1_epi16(static_cast<short>(0xfdf7));
  const __m128i common = _mm_set1_epi16(0x6565);
  return _mm_cmpeq_epi16(_mm_and_si128(load(at), common_bits), common);
}

bool any(__m128i lanes) { return _mm_movemask_epi8(lanes) != 0; }

// For 16 bytes and more. The last block may overlap the one before it; `flameg` lies in whole lanes of one
// of the two whatever the parity of the overlap.
bool hasFlamegLane(std::string_view text) {
  const char* at = text.data();
  const char* const last = at + text.size() - 16;
  for (; last - at >= 48; at += 64) {
    const __m128i found = _mm_or_si128(_mm_or_si128(flamegLanes(at), flamegLanes(at + 16)),
                                       _mm_or_si128(flamegLanes(at + 32), flamegLanes(at + 48)));
    if (any(found)) return true;
  }
  __m128i found = flamegLanes(last);
  for (; at < last; at += 16) found = _mm_or_si128(found, flamegLanes(at));
  return any(found);
}

bool hasPercent(std::string_view text) {
  const char* at = text.data();
  const char* const last = at + text.size() - 16;
  const __m128i percent = _mm_set1_epi8('%');
  __m128i found = _mm_cmpeq_epi8(load(last), percent);
  for (; at < last; at += 16) found = _mm_or_si128(found, _mm_cmpeq_epi8(load(at), percent));
  return any(found);
}
#else
bool hasPercent(std::string_view text) { return text.find('%') != std::string_view::npos; }
#endif

// Our cookies' names and the trigger's value go on from these letters.
bool holdsFlameg(std::string_view text) {
#ifdef __SSE2__
  if (text.size() >= 16 && !hasFlamegLane(text)) return false;
#endif
  return text.find("flameg") != std::string_view::npos;
}

// With an escape inside, a value can spell `flameg` without holding it.
bool mayHoldValue(std::string_view url) {
  if (url.size() < 16) return false;  // shorter than scheme and trigger pair
  return holdsFlameg(url) || hasPercent(url);
}

bool mayBearToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  return startsWithIgnoreCase(authorization, kScheme) &&
         authorization.find("fg1.", kScheme.size()) != std::string_view::npos;
}

constexpr char hexDigit(unsigned value, char ten) {
  return static_cast<char>(value < 10 ? '0' + value : static_cast<unsigned>(ten) + value - 10);
}

}  // namespace

MarkScanner::MarkScanner(const config::Trigger& trigger)
    : referer_(trigger.referer && trigger.query),
      header_(trigger.header),
      path_segment_(trigger.path_segment) {
  if (trigger.query) addName(*trigger.query, kTriggerBit);
  addName(kTokenPairName, kTokenBit);
}

void MarkScanner::addName(std::string_view name, uint8_t bit) {
  if (name.empty()) return;
  const auto note = [bit](std::array<uint8_t, 256>& table, char c) {
    table[static_cast<unsigned char>(c)] |= bit;
  };
  // The last bytes of one character as written: itself, a plus sign, or an escape's second digit.
  const auto noteEnd = [&note](std::array<uint8_t, 256>& table, char c) {
    const unsigned low = static_cast<unsigned char>(c) & 15U;
    note(table, c);
    note(table, hexDigit(low, 'a'));
    note(table, hexDigit(low, 'A'));
    if (c == ' ') note(table, '+');
  };
  noteEnd(last_, name.back());
  const unsigned high = static_cast<unsigned char>(name.back()) >> 4;
  note(before_, hexDigit(high, 'a'));
  note(before_, hexDigit(high, 'A'));
  if (name.size() >= 2) {
    noteEnd(before_, name[name.size() - 2]);
  } else {
    note(before_, '?');
    note(before_, '&');
  }
}

bool MarkScanner::mayHoldPairScalar(std::string_view target) const {
  for (size_t i = 2; i < target.size(); ++i) {
    if (target[i] == '=' && endsName(target.data() + i)) return true;
  }
  return false;
}

bool MarkScanner::mayHoldPair(std::string_view target) const {
#ifdef __SSE2__
  // A pair's `=` has the path's slash and the question mark before it.
  if (target.size() < 18) return mayHoldPairScalar(target);
  const char* at = target.data() + 2;
  const char* const end = target.data() + target.size();
  const __m128i equals = _mm_set1_epi8('=');
  while (true) {
    auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(load(at), equals)));
    for (; found != 0; found &= found - 1) {
      if (endsName(at + __builtin_ctz(found))) return true;
    }
    if (at + 16 == end) return false;
    at = at + 32 <= end ? at + 16 : end - 16;
  }
#else
  return mayHoldPairScalar(target);
#endif
}

bool MarkScanner::mayBeMarked(const RequestHead& head) const {
  const FieldList& fields = head.fields;
  if (mayHoldPair(head.target) || fields.has(HeaderId::FlamegatePrivate)) return true;
  if (header_ && fields.has(HeaderId::XRackMiniProfiler)) return true;
  if (path_segment_ && head.target.find("++profile++") != std::string_view::npos) return true;
  if (!fields.has(HeaderId::Cookie) && !fields.has(HeaderId::Referer) &&
      !fields.has(HeaderId::Authorization)) {
    return false;
  }
  for (const Field& field : fields) {
    if (field.id() == HeaderId::Cookie) {
      if (holdsFlameg(field.value())) return true;
    } else if (field.id() == HeaderId::Referer) {
      if (referer_ && mayHoldValue(field.value())) return true;
    } else if (field.id() == HeaderId::Authorization) {
      if (mayBearToken(field.value())) return true;
    }
  }
  return false;
}

}  // namespace flamegate::proxy
