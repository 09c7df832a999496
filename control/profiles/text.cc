#include "control/profiles/text.h"

#include <array>

namespace flamegate::control {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kCutMark = "\xE2\x80\xA6";

bool isContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// The length of the valid character at the text's beginning (RFC 3629 §4), or 0.
size_t characterLength(std::string_view text) {
  const auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return isContinuation(at(1)) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned char low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : 0xbf;
    return at(1) >= low && at(1) <= high && isContinuation(at(2)) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned char low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;
    return at(1) >= low && at(1) <= high && isContinuation(at(2)) && isContinuation(at(3)) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool isValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = characterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string cleanText(std::string_view text, size_t bytes_max, bool* cut) {
  std::string out;
  size_t last_fit = 0;  // the longest prefix that leaves room for the mark
  while (!text.empty()) {
    const size_t length = characterLength(text);
    const std::string_view piece = length == 0 ? kReplacement : text.substr(0, length);
    if (out.size() + piece.size() > bytes_max) {
      out.resize(last_fit);
      out += kCutMark;
      *cut = true;
      return out;
    }
    out += piece;
    if (out.size() + kCutMark.size() <= bytes_max) last_fit = out.size();
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void appendFixed(std::string* out, double value, int decimals) {
  char digits[400];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::fixed, decimals).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}

void appendJsonString(std::string* out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out->append(text, begin, i - begin);
    begin = i + 1;
    out->push_back('\\');
    if (byte == '\n') {
      out->push_back('n');
    } else if (byte < 0x20) {
      *out += "u00";
      out->push_back(kHex[byte >> 4]);
      out->push_back(kHex[byte & 15]);
    } else {
      out->push_back(static_cast<char>(byte));
    }
  }
  out->append(text, begin);
  out->push_back('"');
}

void appendXmlText(std::string* out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        *out += "&amp;";
        break;
      case '<':
        *out += "&lt;";
        break;
      case '>':
        *out += "&gt;";
        break;
      case '"':
        *out += "&quot;";
        break;
      case '\'':
        *out += "&#39;";
        break;
      case '\t':
        *out += "&#9;";
        break;
      case '\n':
        *out += "&#10;";
        break;
      case '\r':
        *out += "&#13;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          *out += kReplacement;
        } else {
          out->push_back(c);
        }
    }
  }
}

}  // namespace flamegate::control
