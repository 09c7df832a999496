// Classes of characters in HTML markup.
#pragma once

#include "proxy/base/strings.h"

namespace flamegate::proxy {

constexpr bool isHtmlSpace(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

constexpr bool isAsciiLetter(char c) { return toLowerAscii(c) >= 'a' && toLowerAscii(c) <= 'z'; }

constexpr bool isAsciiDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a tag's name ends before this character.
constexpr bool endsTagName(char c) { return isHtmlSpace(c) || c == '/' || c == '>'; }

}  // namespace flamegate::proxy
