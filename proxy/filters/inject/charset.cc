#include "proxy/filters/inject/charset.h"

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

// UTF-16, ISO-2022-JP, and what the standard maps to its `replacement` decoder.
constexpr std::string_view kIncompatible[] = {
    "utf-16",      "utf-16le",    "utf-16be",    "unicode",         "unicodefeff",
    "unicodefffe", "csunicode",   "ucs-2",       "iso-10646-ucs-2", "iso-2022-jp",
    "csiso2022jp", "iso-2022-kr", "csiso2022kr", "iso-2022-cn",     "iso-2022-cn-ext",
    "hz-gb-2312",  "replacement", "utf-32",      "utf-32le",        "utf-32be",
    "utf-7"};

std::string_view unquote(std::string_view value) {
  if (value.empty() || value.front() != '"') return value;
  value.remove_prefix(1);
  return value.substr(0, value.find('"'));
}

}  // namespace

bool isAsciiCompatible(std::string_view charset_label) {
  for (std::string_view label : kIncompatible) {
    if (equalIgnoreCase(label, charset_label)) return false;
  }
  return true;
}

std::string_view findCharset(std::string_view media_type) {
  size_t at = media_type.find(';');
  while (at != std::string_view::npos) {
    std::string_view parameter = media_type.substr(at + 1);
    const size_t end = parameter.find(';');
    at = end == std::string_view::npos ? end : at + 1 + end;
    parameter = trimBlanks(parameter.substr(0, end));
    if (startsWithIgnoreCase(parameter, "charset")) {
      const std::string_view rest = trimBlanks(parameter.substr(7));
      if (!rest.empty() && rest.front() == '=')
        return trimBlanks(unquote(trimBlanks(rest.substr(1))));
    }
  }
  return {};
}

}  // namespace flamegate::proxy
