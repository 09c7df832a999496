#include "control/profiles/summary.h"

#include <algorithm>

#include "control/profiles/call_tree.h"

namespace flamegate::control {
namespace {

// Nanoseconds of a unit of time; 0 for any other unit.
int64_t nanosecondsIn(std::string_view unit) {
  if (unit == "nanoseconds" || unit == "ns") return 1;
  if (unit == "microseconds" || unit == "us") return 1'000;
  if (unit == "milliseconds" || unit == "ms") return 1'000'000;
  if (unit == "seconds" || unit == "s") return 1'000'000'000;
  return 0;
}

}  // namespace

size_t findColumn(const Profile& profile, std::string_view type) {
  const auto& types = profile.value_types;
  const auto found = std::ranges::find_if(
      types, [&](const ValueType& known) { return profile.text(known.type) == type; });
  return found == types.end() ? kNoIndex : static_cast<size_t>(found - types.begin());
}

size_t shownColumn(const Profile& profile) {
  if (const size_t wall = findColumn(profile, "wall"); wall != kNoIndex) return wall;
  if (profile.default_type != 0) {
    const size_t wished = findColumn(profile, profile.text(profile.default_type));
    if (wished != kNoIndex) return wished;
  }
  return profile.value_types.empty() ? size_t{kNoIndex} : profile.value_types.size() - 1;
}

TimeWeight timeWeight(const Profile& profile) {
  const size_t column = shownColumn(profile);
  if (column == kNoIndex) return {};
  const std::string_view unit = profile.text(profile.value_types[column].unit);
  if (const int64_t factor = nanosecondsIn(unit); factor > 0) return {column, factor, true};
  const int64_t period =
      multiplySaturating(profile.period, nanosecondsIn(profile.text(profile.period_type.unit)));
  if (unit == "count" && period > 0) return {column, period, true};
  return {column, 1, false};
}

int64_t sumOf(const Profile& profile, size_t column) {
  int64_t sum = 0;
  if (column == kNoIndex) return sum;
  for (const int64_t value : profile.samples.values[column]) sum = addSaturating(sum, value);
  return sum;
}

int64_t sampleCountOf(const Profile& profile, size_t samples_column, size_t row) {
  return samples_column == kNoIndex ? 1 : profile.samples.values[samples_column][row];
}

int64_t sampleCount(const Profile& profile) {
  const size_t column = findColumn(profile, "samples");
  return column == kNoIndex ? static_cast<int64_t>(profile.samples.size()) : sumOf(profile, column);
}

std::array<int64_t, kShownStateCount> stateTotals(const Profile& profile) {
  std::array<int64_t, kShownStateCount> totals{};
  const TimeWeight weight = timeWeight(profile);
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    int64_t& total = totals[shownState(profile.samples.state[row])];
    total = addSaturating(total, weight.of(profile.samples, row));
  }
  return totals;
}

std::vector<HotFunction> hottestFunctions(const Profile& profile, size_t column, HotOrder order,
                                          size_t count) {
  const CallTree tree = callTree(profile, column);
  std::vector<HotFunction> functions(profile.functions.size());
  for (FunctionId id = 0; id < functions.size(); ++id) functions[id].function = id;
  std::vector<uint32_t> on_path(functions.size(), 0);
  const auto enter = [&](NodeId node) {
    if (node == kRootNode) return;
    HotFunction& hot = functions[profile.frames[profile.nodes[node].frame].function];
    hot.self = addSaturating(hot.self, tree.self[node]);
    if (on_path[hot.function]++ == 0) hot.total = addSaturating(hot.total, tree.total[node]);
  };
  const auto leave = [&](NodeId node) {
    if (node != kRootNode) --on_path[profile.frames[profile.nodes[node].frame].function];
  };
  walkTree(childLists(profile.nodes), enter, leave);

  const auto key = order == HotOrder::Self ? &HotFunction::self : &HotFunction::total;
  std::erase_if(functions, [&](const HotFunction& hot) { return hot.*key == 0; });
  const auto hotter = [&](const HotFunction& a, const HotFunction& b) {
    return a.*key != b.*key ? a.*key > b.*key : a.function < b.function;
  };
  count = std::min(count, functions.size());
  std::partial_sort(functions.begin(), functions.begin() + static_cast<ptrdiff_t>(count),
                    functions.end(), hotter);
  functions.resize(count);
  return functions;
}

std::string describeLoss(const Loss& loss) {
  std::string out;
  const auto add = [&](std::string_view name, uint64_t count) {
    if (count == 0) return;
    if (!out.empty()) out += ' ';
    out += name;
    out += '=' + std::to_string(count);
  };
  add("truncated_stacks", loss.truncated_stacks);
  add("cut_strings", loss.cut_strings);
  add("bad_lines", loss.bad_lines);
  if (loss.bad_lines > 0) out += " (first: line " + std::to_string(loss.first_bad_line) + ")";
  return out;
}

}  // namespace flamegate::control
