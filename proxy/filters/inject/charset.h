// Encodings in which appended ASCII text may not mean what it says.
#pragma once

#include <string_view>

namespace flamegate::proxy {

// Whether a document labelled so reads ASCII bytes as ASCII at any point (labels of the Encoding
// Standard; unknown labels are ignored by browsers, which then pick a compatible encoding).
bool isAsciiCompatible(std::string_view charset_label);

// The charset parameter of a media type such as `text/html; charset="utf-8"`; empty without one.
std::string_view findCharset(std::string_view media_type);

}  // namespace flamegate::proxy
