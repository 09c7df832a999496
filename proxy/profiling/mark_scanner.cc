#include "proxy/profiling/mark_scanner.h"

#include <algorithm>

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

// Wherever `flameg` begins, its bytes 4 and 5 (`eg`) or 3 and 4 (`me`) fill a 16-bit lane. These
// two differ in two bits only, so that one comparison without those bits finds both.
__m128i flamegLanes(const char* at) {
  const __m128i common_bits = _mm_set1_epi16(static_cast<short>(0xfdf7));
  const __m128i common = _mm_set1_epi16(0x6565);
  return _mm_cmpeq_epi16(_mm_and_si128(load(at), common_bits), common);
}

bool any(__m128i lanes) { return _mm_movemask_epi8(lanes) != 0; }

// What one block of 16 bytes says against a text. `escapes`: a percent sign counts, too.
template <bool escapes>
__m128i suspicion(const char* at) {
  if constexpr (!escapes) return flamegLanes(at);
  return _mm_or_si128(flamegLanes(at), _mm_cmpeq_epi8(load(at), _mm_set1_epi8('%')));
}

// For 16 bytes and more. The last block may overlap the one before it; `flameg` lies in whole lanes
// of one of the two whatever the parity of the overlap.
template <bool escapes>
bool isSuspicious(std::string_view text) {
  const char* at = text.data();
  const char* const last = at + text.size() - 16;
  for (; last - at >= 48; at += 64) {
    const __m128i found =
        _mm_or_si128(_mm_or_si128(suspicion<escapes>(at), suspicion<escapes>(at + 16)),
                     _mm_or_si128(suspicion<escapes>(at + 32), suspicion<escapes>(at + 48)));
    if (any(found)) return true;
  }
  __m128i found = suspicion<escapes>(last);
  for (; at < last; at += 16) found = _mm_or_si128(found, suspicion<escapes>(at));
  return any(found);
}
#else
template <bool escapes>
bool isSuspicious(std::string_view) {
  return true;
}
#endif

// Our cookies' names and the trigger's value go on from these letters.
constexpr std::string_view kNeedle = "flameg";

bool mayHoldCookie(std::string_view cookies) {
  if (cookies.size() >= 16 && !isSuspicious<false>(cookies)) return false;
  return cookies.find(kNeedle) != std::string_view::npos;
}

// With an escape inside, a value can spell the letters without holding them.
bool mayHoldValue(std::string_view url) {
  if (url.size() < 16) return false;  // shorter than a scheme and the trigger pair
  if (!isSuspicious<true>(url)) return false;
  return url.find(kNeedle) != std::string_view::npos || url.find('%') != std::string_view::npos;
}

bool mayBearToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  return startsWithIgnoreCase(authorization, kScheme) &&
         authorization.find("fg1.", kScheme.size()) != std::string_view::npos;
}

// The fields that the scan has to read.
constexpr bool isRead(HeaderId id) {
  constexpr auto bit = [](HeaderId of) { return uint64_t{1} << static_cast<unsigned>(of); };
  constexpr uint64_t kRead =
      bit(HeaderId::Authorization) | bit(HeaderId::Cookie) | bit(HeaderId::Referer);
  static_assert(static_cast<unsigned>(HeaderId::Referer) < 64);
  const auto index = static_cast<unsigned>(id);
  return index < 64 && ((kRead >> index) & 1U) != 0;
}

constexpr char hexDigit(unsigned value, char ten) {
  return static_cast<char>(value < 10 ? '0' + value : static_cast<unsigned>(ten) + value - 10);
}

}  // namespace

MarkScanner::MarkScanner(const config::Trigger& trigger)
    : referer_(trigger.referer && trigger.query),
      header_(trigger.header),
      path_segment_(trigger.path_segment) {
  if (trigger.query && !trigger.query->empty()) {
    addName(*trigger.query, kTriggerBit);
    // A blank is written as a plus sign.
    trigger_end_ = trigger.query->back() == ' ' ? '+' : trigger.query->back();
  }
  addName(kTokenPairName, kTokenBit);
}

void MarkScanner::addName(std::string_view name, uint8_t bit) {
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

#ifdef __SSE2__
// For 16 bytes and more.
bool MarkScanner::mayEndName(const char* at, const char* end) const {
  const __m128i equals = _mm_set1_epi8('=');
  const __m128i percent = _mm_set1_epi8('%');
  const __m128i trigger_end = _mm_set1_epi8(trigger_end_);
  const __m128i token_end = _mm_set1_epi8(kTokenPairName.back());
  __m128i found = _mm_setzero_si128();
  while (true) {
    const __m128i bytes = load(at);
    const __m128i ends =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, trigger_end), _mm_cmpeq_epi8(bytes, token_end));
    const __m128i before_equals = _mm_and_si128(ends, _mm_cmpeq_epi8(load(at + 1), equals));
    found = _mm_or_si128(found, _mm_or_si128(before_equals, _mm_cmpeq_epi8(bytes, percent)));
    if (at + 17 == end) return any(found);
    at = at + 33 <= end ? at + 16 : end - 17;
  }
}
#endif

bool MarkScanner::mayHoldPair(std::string_view target) const {
#ifdef __SSE2__
  if (target.size() >= 17 && !mayEndName(target.data(), target.data() + target.size()))
    return false;
#endif
  const char* const begin = target.data();
  const char* const end = begin + target.size();
  // A pair's `=` has the path's slash and the question mark before it.
  const char* at = begin + std::min<size_t>(2, target.size());
  for (at = std::find(at, end, '='); at != end; at = std::find(at + 1, end, '=')) {
    if (endsName(at)) return true;
  }
  return false;
}

bool MarkScanner::mayBeMarked(const RequestHead& head) const {
  const FieldList& fields = head.fields;
  if (mayHoldPair(head.target) || fields.has(HeaderId::FlamegatePrivate)) return true;
  if (header_ && fields.has(HeaderId::XRackMiniProfiler)) return true;
  if (path_segment_ && head.target.find("++profile++") != std::string_view::npos) return true;
  for (const Field& field : fields) {
    if (!isRead(field.id())) continue;
    const std::string_view value = field.value();
    if (field.id() == HeaderId::Cookie    ? mayHoldCookie(value)
        : field.id() == HeaderId::Referer ? referer_ && mayHoldValue(value)
                                          : mayBearToken(value)) {
      return true;
    }
  }
  return false;
}

}  // namespace flamegate::proxy
