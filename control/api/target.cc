#include "control/api/target.h"

namespace flamegate::control {
namespace {

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool isUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool isPlainSegment(std::string_view segment) {
  if (segment == "." || segment == "..") return false;
  for (char c : segment) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

// Calls `each` with every piece of the text between separators.
template <typename Each>
bool splitAt(std::string_view text, char separator, Each each) {
  while (true) {
    const size_t end = text.find(separator);
    if (!each(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

bool appendSegment(std::vector<std::string>& path, std::string_view raw) {
  std::optional<std::string> segment = percentDecode(raw, false);
  if (!segment || !isPlainSegment(*segment)) return false;
  path.push_back(std::move(*segment));
  return true;
}

bool appendPair(std::vector<QueryPair>& query, std::string_view raw) {
  if (raw.empty()) return true;
  const size_t equals = raw.find('=');
  std::optional<std::string> name = percentDecode(raw.substr(0, equals), true);
  std::optional<std::string> value = std::string();
  if (equals != std::string_view::npos) value = percentDecode(raw.substr(equals + 1), true);
  if (!name || !value) return false;
  query.push_back({std::move(*name), std::move(*value)});
  return true;
}

}  // namespace

std::optional<std::string> percentDecode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hexValue(text[i + 1]);
      const int low = hexValue(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_blank && c == '+' ? ' ' : c);
    }
  }
  return out;
}

std::string percentEncode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (isUnreserved(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::optional<Target> parseTarget(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  const size_t mark = target.find('?');
  Target out;
  const bool path_ok =
      splitAt(target.substr(1, mark == std::string_view::npos ? mark : mark - 1), '/',
              [&](std::string_view segment) { return appendSegment(out.path, segment); });
  if (!path_ok) return std::nullopt;
  if (mark != std::string_view::npos) {
    const bool query_ok = splitAt(target.substr(mark + 1), '&', [&](std::string_view pair) {
      return appendPair(out.query, pair);
    });
    if (!query_ok) return std::nullopt;
  }
  return out;
}

}  // namespace flamegate::control
