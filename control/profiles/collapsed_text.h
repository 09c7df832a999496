// How names stand in collapsed stacks.
//
// A name is written as it is, but for these bytes, which are written as \xHH with two lower-case
// hexadecimal digits: `;`, control characters, a blank at either end of the name, and a backslash
// that is followed by what would read as such an escape. Read back, exactly those escapes (\x00 to
// \x20, \x3b, \x5c) are undone; every other backslash stands for itself, as other writers mean it.
#pragma once

#include <string>
#include <string_view>

namespace flamegate::control {

void appendCollapsedName(std::string* out, std::string_view name);
std::string readCollapsedName(std::string_view text);

}  // namespace flamegate::control
