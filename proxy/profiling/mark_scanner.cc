#include "proxy/profiling/mark_scanner.h"

#include <algorithm>
#include <cstring>

#include "proxy/base/strings.h"
#include "proxy/profiling/query.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace flamegate::proxy {
namespace {

constexpr uint8_t kTriggerBit = 1;
constexpr uint8_t kTokenBit = 2;

// Where a mark can be, beside the target.
constexpr HeaderIdSet kUsualBearers{HeaderId::Cookie, HeaderId::Referer};
constexpr HeaderIdSet kRareBearers{HeaderId::Authorization, HeaderId::FlamegatePrivate,
                                   HeaderId::XRackMiniProfiler};

bool mayBearToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  return startsWithIgnoreCase(authorization, kScheme) &&
         authorization.find("fg1.", kScheme.size()) != std::string_view::npos;
}

// ---- The first look -----------------------------------------------------------------------------

#ifdef __x86_64__
// For functions that only run where the processor has AVX2. Those cannot return blocks to others.
#define FLAMEGATE_AVX2 __attribute__((target("avx2")))
#define FLAMEGATE_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

FLAMEGATE_AVX2_INLINE void noteEqual(const char* at, const RepeatedByte& byte, __m128i& equal) {
  equal = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)),
                         *reinterpret_cast<const __m128i*>(byte.bytes.data()));
}

FLAMEGATE_AVX2_INLINE void noteEqual(const char* at, const RepeatedByte& byte, __m256i& equal) {
  equal = _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)),
                            *reinterpret_cast<const __m256i*>(byte.bytes.data()));
}

// The last byte of a pair's name with its equals sign, or an escape, which can stand for any byte.
struct NameEnds {
  static constexpr size_t kShortest = 3;  // `?p=`
  const SoughtBytes& sought;

  template <typename Block>
  FLAMEGATE_AVX2_INLINE void note(const char* at, Block& found) const {
    Block end, other_end, equals, escape;
    noteEqual(at, sought.trigger_end, end);
    noteEqual(at, sought.token_end, other_end);
    noteEqual(at + 1, sought.equals, equals);
    noteEqual(at, sought.percent, escape);
    found |= ((end | other_end) & equals) | escape;
  }
};

// The needle's first two letters, or with `escapes` an escape.
template <bool escapes>
struct NeedleBegins {
  static constexpr size_t kShortest = 9;  // `flamegate`
  const SoughtBytes& sought;

  template <typename Block>
  FLAMEGATE_AVX2_INLINE void note(const char* at, Block& found) const {
    Block first, second;
    noteEqual(at, sought.needle_first, first);
    noteEqual(at + 1, sought.needle_second, second);
    found |= first & second;
    if constexpr (escapes) {
      noteEqual(at, sought.percent, first);
      found |= first;
    }
  }
};

// Notes what every place of a text says; the last block overlaps the one before it. At least as
// long as a block and a byte.
template <typename Block, typename What>
FLAMEGATE_AVX2_INLINE void noteBlocks(std::string_view text, const What& what, Block& found) {
  const char* const last = text.data() + text.size() - sizeof(Block) - 1;
  what.note(last, found);
  for (const char* at = text.data(); at < last; at += sizeof(Block)) what.note(at, found);
}

// What the first look has found.
struct Suspicion {
  __m256i wide;
  __m128i narrow;

  FLAMEGATE_AVX2_INLINE Suspicion() : wide(_mm256_setzero_si256()), narrow(_mm_setzero_si128()) {}

  template <typename What>
  FLAMEGATE_AVX2_INLINE void note(std::string_view text, const What& what) {
    if (text.size() > sizeof wide) {
      noteBlocks(text, what, wide);
    } else if (text.size() > sizeof narrow) {
      noteBlocks(text, what, narrow);
    } else if (text.size() >= What::kShortest) {
      narrow = _mm_set1_epi8(1);  // too short for blocks, and long enough for what is looked for
    }
  }
  FLAMEGATE_AVX2_INLINE bool any() const {
    const __m256i all = _mm256_or_si256(wide, _mm256_castsi128_si256(narrow));
    return _mm256_testz_si256(all, all) == 0;
  }
};

#endif

// ---- The second look ----------------------------------------------------------------------------

bool mayHoldCookie(std::string_view cookies) {
  return cookies.find(kMarkNeedle) != std::string_view::npos;
}

// With an escape inside, a value can spell the letters without holding them.
bool mayHoldValue(std::string_view url) {
  return url.find(kMarkNeedle) != std::string_view::npos || url.find('%') != std::string_view::npos;
}

template <typename Test>
bool anyValue(const FieldList& fields, HeaderId id, Test test) {
  for (const Field* field = fields.first(id); field != nullptr; field = fields.next(*field)) {
    if (test(field->value())) return true;
  }
  return false;
}

constexpr char hexDigit(unsigned value, char ten) {
  return static_cast<char>(value < 10 ? '0' + value : static_cast<unsigned>(ten) + value - 10);
}

}  // namespace

MarkScanner::MarkScanner(const config::Trigger& trigger)
    : referer_(trigger.referer && trigger.query),
      header_(trigger.header),
      path_segment_(trigger.path_segment),
      look_(chooseLook()) {
  if (trigger.query && !trigger.query->empty()) {
    addName(*trigger.query, kTriggerBit);
    // A blank is written as a plus sign.
    sought_.trigger_end = RepeatedByte(trigger.query->back() == ' ' ? '+' : trigger.query->back());
  }
  addName(kTokenPairName, kTokenBit);
  sought_.token_end = RepeatedByte(kTokenPairName.back());
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

bool MarkScanner::mayHoldPair(std::string_view target) const {
  const char* const begin = target.data();
  const char* const end = begin + target.size();
  // A pair's `=` has the path's slash and the question mark before it.
  const char* at = begin + std::min<size_t>(2, target.size());
  for (at = std::find(at, end, '='); at != end; at = std::find(at + 1, end, '=')) {
    if (endsName(at)) return true;
  }
  return false;
}

#ifdef __x86_64__
FLAMEGATE_AVX2 bool MarkScanner::lookTwice(const MarkScanner& scanner, const RequestHead& head) {
  const FieldList& fields = head.fields;
  if (fields.hasAny(kRareBearers) || fields.repeatsAny(kUsualBearers)) {
    return scanner.looksMarked(head);
  }
  Suspicion suspicion;
  suspicion.note(head.target, NameEnds{scanner.sought_});
  if (const Field* cookie = fields.first(HeaderId::Cookie)) {
    suspicion.note(cookie->value(), NeedleBegins<false>{scanner.sought_});
  }
  if (const Field* referer = fields.first(HeaderId::Referer)) {
    suspicion.note(referer->value(), NeedleBegins<true>{scanner.sought_});
  }
  return suspicion.any() && scanner.looksMarked(head);
}

MarkScanner::Look MarkScanner::chooseLook() const {
  const bool can_be_first = __builtin_cpu_supports("avx2") != 0 && !path_segment_;
  return can_be_first ? lookTwice : lookOnce;
}
#else
MarkScanner::Look MarkScanner::chooseLook() const { return lookOnce; }
#endif

bool MarkScanner::lookOnce(const MarkScanner& scanner, const RequestHead& head) {
  return scanner.looksMarked(head);
}

bool MarkScanner::looksMarked(const RequestHead& head) const {
  const FieldList& fields = head.fields;
  return mayHoldPair(head.target) ||
         (path_segment_ && head.target.find("++profile++") != std::string_view::npos) ||
         fields.has(HeaderId::FlamegatePrivate) ||
         (header_ && fields.has(HeaderId::XRackMiniProfiler)) ||
         anyValue(fields, HeaderId::Cookie, mayHoldCookie) ||
         (referer_ && anyValue(fields, HeaderId::Referer, mayHoldValue)) ||
         anyValue(fields, HeaderId::Authorization, mayBearToken);
}

}  // namespace flamegate::proxy
