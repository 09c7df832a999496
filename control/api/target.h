// A request target taken apart: path segments and query pairs, decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/api/exchange.h"

namespace flamegate::control {

struct Target {
  std::vector<std::string> path;
  std::vector<QueryPair> query;
};

// The path must begin with `/`. Segments are decoded once after the split, so that an encoded slash
// stays inside its segment; a bad escape, a control byte, `.` or `..` make the target no target.
// A trailing slash leaves an empty last segment. In the query `+` is a blank.
std::optional<Target> parseTarget(std::string_view target);

// One percent-decoding; nothing for a bad escape. `plus_is_blank` for query text.
std::optional<std::string> percentDecode(std::string_view text, bool plus_is_blank);

// Encodes everything but the unreserved characters of RFC 3986 §2.3.
std::string percentEncode(std::string_view text);

}  // namespace flamegate::control
