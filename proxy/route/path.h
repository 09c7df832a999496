// The one form of a path in which routes and reserved prefixes are matched.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flamegate::proxy {

// Whether the path is in normal form as it stands: no percent sign, no `//`, no segment that begins
// with a dot. True for nearly all paths; costs a few instructions per 16 bytes.
bool isPlainPath(std::string_view path);

// The normal form (RFC 3986 §6.2.2): escapes of unreserved characters decoded, other escapes in upper
// case, dot segments resolved after decoding, runs of slashes merged. `%2F` stays an escape: it is
// not a separator. Only for matching: what is forwarded keeps its bytes.
// Nothing when an escape is malformed or stands for NUL.
std::optional<std::string> normalizePath(std::string_view path);

}  // namespace flamegate::proxy
