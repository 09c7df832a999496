#include "agent-protocol/wire/route_label.h"

#include <algorithm>

namespace flamegate::agent {
namespace {

constexpr size_t kLongWord = 20;
constexpr size_t kLongHex = 8;
constexpr size_t kLabelBytesMax = 512;

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isWordByte(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

bool looksLikeId(std::string_view segment) {
  if (segment.empty() || std::none_of(segment.begin(), segment.end(), isDigit)) return false;
  if (std::all_of(segment.begin(), segment.end(), isDigit)) return true;
  if (segment.size() >= kLongHex && std::all_of(segment.begin(), segment.end(), isHex)) return true;
  // UUIDs are words too.
  return segment.size() >= kLongWord && std::all_of(segment.begin(), segment.end(), isWordByte);
}

}  // namespace

std::string foldIds(std::string_view path) {
  std::string out;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    out.append(looksLikeId(segment) ? ":id" : segment);
    if (slash == std::string_view::npos) return out;
    out.push_back('/');
    path.remove_prefix(slash + 1);
  }
}

std::string routeLabel(std::string_view configured, std::string_view method,
                       std::string_view agents_route, std::string_view path) {
  if (!configured.empty()) return std::string(configured);
  std::string label(method);
  label.push_back(' ');
  label.append(agents_route.empty() ? foldIds(path.substr(0, path.find('?')))
                                    : std::string(agents_route));
  if (label.size() > kLabelBytesMax) label.resize(kLabelBytesMax);
  return label;
}

}  // namespace flamegate::agent
