#include "proxy/server/log_line.h"

#include <cstring>

#include "proxy/base/strings.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flamegate::proxy {
namespace {

constexpr size_t kTextBytesMax = 2048;
constexpr size_t kEscapeBytesMax = 6;  // of one byte
constexpr size_t kBlock = 16;
constexpr size_t kDecimalBytesMax = 20;
constexpr char kHexDigits[] = "0123456789abcdef";

// Printable ASCII but for quote and backslash: written as it is.
bool isPlain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// Copies the plain bytes at the front of `text` and returns how many. May write up to kBlock - 1
// bytes more.
size_t copyPlain(std::string_view text, char* out) {
  size_t copied = 0;
#ifdef __SSE2__
  const auto each = [](char c) { return _mm_set1_epi8(c); };
  for (; text.size() - copied >= kBlock; copied += kBlock) {
    const auto* from = reinterpret_cast<const __m128i*>(text.data() + copied);
    const __m128i bytes = _mm_loadu_si128(from);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + copied), bytes);
    // As signed numbers, the bytes of other alphabets are below the blank, too.
    const __m128i special = _mm_or_si128(
        _mm_or_si128(_mm_cmplt_epi8(bytes, each(0x20)), _mm_cmpeq_epi8(bytes, each(0x7f))),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, each('"')), _mm_cmpeq_epi8(bytes, each('\\'))));
    const int found = _mm_movemask_epi8(special);
    if (found != 0)
      return copied + static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(found)));
  }
#endif
  for (; copied < text.size() && isPlain(text[copied]); ++copied) out[copied] = text[copied];
  return copied;
}

// The length of the well-formed UTF-8 sequence at the front (RFC 3629 §4), 0 if there is none.
size_t utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (at(i) & 0xc0) == 0x80; };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = lead == 0xe0 && at(1) < 0xa0;
    const bool surrogate = lead == 0xed && at(1) > 0x9f;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = lead == 0xf0 && at(1) < 0x90;
    const bool beyond = lead == 0xf4 && at(1) > 0x8f;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

char* copy(std::string_view text, char* out) { return std::copy(text.begin(), text.end(), out); }

char* writeByteEscape(bool json, unsigned char byte, char* out) {
  out = copy(json ? "\\u00" : "\\x", out);
  *out++ = kHexDigits[byte >> 4];
  *out++ = kHexDigits[byte & 15];
  return out;
}

char* writeEscaped(bool json, std::string_view text, char* out) {
  while (true) {
    const size_t plain = copyPlain(text, out);
    out += plain;
    text.remove_prefix(plain);
    if (text.empty()) return out;
    const char c = text.front();
    const size_t length = utf8Length(text);
    if (c == '"' || c == '\\') {
      *out++ = '\\';
      *out++ = c;
      text.remove_prefix(1);
    } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out = writeByteEscape(json, static_cast<unsigned char>(c), out);
      text.remove_prefix(1);
    } else {
      out = copy(text.substr(0, length), out);
      text.remove_prefix(length);
    }
  }
}

}  // namespace

void LogLines::grow(size_t bytes) {
  capacity_ = std::max(capacity_ * 2, size_ + bytes);
  std::unique_ptr<char[]> larger(new char[capacity_]);
  std::copy_n(bytes_.get(), size_, larger.get());
  bytes_ = std::move(larger);
}

LogLine::LogLine(config::AccessLog::Format format, int64_t unix_ms, LogLines& lines)
    : json_(format == config::AccessLog::Format::Json), lines_(lines) {
  char* at = lines.room(64);
  at = copy(json_ ? "{\"time\":\"" : "time=\"", at);
  at = copy(lines.timestamps_.text(unix_ms), at);
  *at++ = '"';
  lines.end(at);
}

LogLine::~LogLine() { lines_.end(copy(json_ ? "}\n" : "\n", lines_.room(2))); }

void LogLine::text(const LogKey& key, std::string_view value) {
  value = value.substr(0, kTextBytesMax);
  char* at = lines_.room(LogKey::kBytes + 2 + kEscapeBytesMax * value.size() + kBlock);
  at = key.write(json_, at);
  *at++ = '"';
  at = writeEscaped(json_, value, at);
  *at++ = '"';
  lines_.end(at);
}

void LogLine::number(const LogKey& key, uint64_t value) {
  char* at = lines_.room(LogKey::kBytes + kDecimalBytesMax);
  lines_.end(writeDecimal(key.write(json_, at), value));
}

}  // namespace flamegate::proxy
