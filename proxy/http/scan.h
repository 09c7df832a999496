// Searches over header bytes, 16 at a time where the processor can.
#pragma once

#include <cstdint>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flamegate::proxy {

// The scalar forms define the meaning; a test holds the vector forms to them.

// The first byte that is below `limit` or DEL; `end` if there is none.
inline const char* findBelowScalar(const char* at, const char* end, unsigned char limit) {
  while (at != end && static_cast<unsigned char>(*at) >= limit && *at != 0x7f) ++at;
  return at;
}

inline const char* findBelow(const char* at, const char* end, unsigned char limit) {
#ifdef __SSE2__
  const __m128i below = _mm_set1_epi8(static_cast<char>(limit - 1));
  const __m128i del = _mm_set1_epi8(0x7f);
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(bytes, below), bytes),
                                     _mm_cmpeq_epi8(bytes, del));
    const int mask = _mm_movemask_epi8(hit);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
    at += 16;
  }
#endif
  return findBelowScalar(at, end, limit);
}

// The first control character (0x00 to 0x1f, 0x7f): what ends a field value.
inline const char* findControl(const char* at, const char* end) { return findBelow(at, end, 0x20); }

// The first control character or blank: what ends a request target.
inline const char* findControlOrBlank(const char* at, const char* end) {
  return findBelow(at, end, 0x21);
}

// The first colon, control character or blank: what ends a field name, rightly or wrongly.
inline const char* findNameEndScalar(const char* at, const char* end) {
  while (at != end && *at != ':' && static_cast<unsigned char>(*at) > 0x20 && *at != 0x7f) ++at;
  return at;
}

inline const char* findNameEnd(const char* at, const char* end) {
#ifdef __SSE2__
  const __m128i blank = _mm_set1_epi8(0x20);
  const __m128i colon = _mm_set1_epi8(':');
  const __m128i del = _mm_set1_epi8(0x7f);
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i hit = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(bytes, blank), bytes), _mm_cmpeq_epi8(bytes, del)),
        _mm_cmpeq_epi8(bytes, colon));
    const int mask = _mm_movemask_epi8(hit);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
    at += 16;
  }
#endif
  return findNameEndScalar(at, end);
}

// Whether each byte is a token character (RFC 9110 §5.6.2), at least one.
bool isToken(std::string_view text);

}  // namespace flamegate::proxy
