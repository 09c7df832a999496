#include "proxy/route/path.h"

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flamegate::proxy {
namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool isUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::optional<std::string> decodeUnreserved(std::string_view path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out.push_back(path[i]);
      continue;
    }
    if (path.size() - i < 3) return std::nullopt;
    const int high = hexDigit(path[i + 1]);
    const int low = hexDigit(path[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    const char c = static_cast<char>(high * 16 + low);
    if (isUnreserved(c)) {
      out.push_back(c);
    } else {
      out.append({'%', kDigits[high], kDigits[low]});
    }
    i += 2;
  }
  return out;
}

bool isPlainScalar(std::string_view path, char before) {
  for (char c : path) {
    if (c == '%' || (before == '/' && (c == '/' || c == '.'))) return false;
    before = c;
  }
  return true;
}

}  // namespace

bool isPlainPath(std::string_view path) {
  char before = 0;
#ifdef __SSE2__
  while (path.size() >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(path.data()));
    const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('/'));
    const __m128i dot = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('.'));
    const __m128i percent = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('%'));
    const auto slashes = static_cast<uint32_t>(_mm_movemask_epi8(slash));
    const auto special = static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(slash, dot)));
    const uint32_t after_slash = (slashes << 1) | (before == '/' ? 1U : 0U);
    if (_mm_movemask_epi8(percent) != 0 || (after_slash & special) != 0) return false;
    before = path[15];
    path.remove_prefix(16);
  }
#endif
  return isPlainScalar(path, before);
}

std::optional<std::string> normalizePath(std::string_view path) {
  auto decoded = decodeUnreserved(path);
  if (!decoded) return std::nullopt;
  std::string out;
  std::string_view rest = *decoded;
  bool trailing_slash = false;
  while (!rest.empty()) {
    const size_t slash = rest.find('/', 1);
    const std::string_view segment = rest.substr(rest.front() == '/' ? 1 : 0,
                                                 slash - (rest.front() == '/' ? 1 : 0));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
    trailing_slash = segment.empty() || segment == "." || segment == "..";
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") {
      const size_t parent = out.rfind('/');
      out.resize(parent == std::string::npos ? 0 : parent);
      continue;
    }
    out.append("/").append(segment);
  }
  if (trailing_slash || out.empty()) out.push_back('/');
  return out;
}

}  // namespace flamegate::proxy
