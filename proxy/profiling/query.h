// What a query string asks of the profiler, and the query without that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/wire/request_header.h"

namespace flamegate::proxy {

// The known values of the trigger pair (`pp=…`); any other value belongs to the application.
enum class Verb : unsigned char { None, AsyncFlamegraph, Flamegraph, Help, Skip, Disable, Enable };

inline constexpr std::string_view kAsyncFlamegraph = "async-flamegraph";
inline constexpr std::string_view kTokenPairName = "fgtoken";
inline constexpr std::string_view kOptionPrefix = "flamegraph_";

// What a request asks for beside the trigger; absent values are the route's defaults.
struct OptionOverrides {
  std::optional<agent::Mode> mode;
  std::optional<uint64_t> interval_us;  // 100 to 1,000,000
  bool ignore_gc = false;
  friend bool operator==(const OptionOverrides&, const OptionOverrides&) = default;
};

struct QueryMarks {
  Verb verb = Verb::None;
  bool contradictory = false;  // two different known values without skip: then verb is None
  OptionOverrides options;
};

// Calls `each(pair, name, value)` for the pairs of a query, as written: split at `&` only, the name
// up to the first `=`. Without `=` the value is empty.
template <typename Each>
void forEachPair(std::string_view query, Each each) {
  while (true) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const size_t equals = pair.find('=');
    each(pair, pair.substr(0, equals),
         equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

// Percent-decoded once, `+` is a blank; nothing when an escape is malformed.
std::optional<std::string> decodeQueryText(std::string_view raw);

// Whether the text decodes to `expected`. Never for one with a malformed escape.
bool decodesTo(std::string_view raw, std::string_view expected);

// `name` is the configured name of the trigger pair.
QueryMarks readQuery(std::string_view query, std::string_view name);

// Whether the pair `raw_name=raw_value` is the trigger pair with a known value.
bool isTriggerPair(std::string_view raw_name, std::string_view raw_value, std::string_view name);

// Whether a name decodes to one that begins with `flamegraph_`.
bool isOptionName(std::string_view raw_name);

// The target without the pairs for which `drop(name, value)` holds; the others keep their bytes and
// order, and an empty query loses its `?`. Nothing when no pair was dropped.
template <typename Drop>
std::optional<std::string> dropPairs(std::string_view target, Drop drop) {
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  std::string kept(target.substr(0, mark));
  char separator = '?';
  bool dropped = false;
  forEachPair(target.substr(mark + 1),
              [&](std::string_view pair, std::string_view name, std::string_view value) {
                if (drop(name, value)) {
                  dropped = true;
                  return;
                }
                kept.push_back(separator);
                kept.append(pair);
                separator = '&';
              });
  if (!dropped) return std::nullopt;
  return kept;
}

}  // namespace flamegate::proxy
