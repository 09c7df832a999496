#include "control/profiles/collapsed_text.h"

namespace flamegate::control {
namespace {

constexpr size_t kEscapeBytes = 4;  // \xHH
constexpr char kHexDigits[] = "0123456789abcdef";

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that an escape at the text's beginning stands for, or -1.
int escapedByte(std::string_view text) {
  if (text.size() < kEscapeBytes || text[0] != '\\' || text[1] != 'x') return -1;
  const int high = hexDigit(text[2]);
  const int low = hexDigit(text[3]);
  if (high < 0 || low < 0) return -1;
  const int byte = high * 16 + low;
  return byte <= ' ' || byte == ';' || byte == '\\' ? byte : -1;
}

bool needsEscape(std::string_view name, size_t i) {
  const auto byte = static_cast<unsigned char>(name[i]);
  if (byte == ' ') return i == 0 || i + 1 == name.size();
  return byte < ' ' || byte == ';' || escapedByte(name.substr(i)) >= 0;
}

}  // namespace

void appendCollapsedName(std::string* out, std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (!needsEscape(name, i)) {
      out->push_back(name[i]);
      continue;
    }
    const auto byte = static_cast<unsigned char>(name[i]);
    *out += "\\x";
    out->push_back(kHexDigits[byte >> 4]);
    out->push_back(kHexDigits[byte & 15]);
  }
}

std::string readCollapsedName(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const int byte = escapedByte(text);
    out.push_back(byte < 0 ? text.front() : static_cast<char>(byte));
    text.remove_prefix(byte < 0 ? 1 : kEscapeBytes);
  }
  return out;
}

}  // namespace flamegate::control
