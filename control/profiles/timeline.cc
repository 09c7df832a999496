#include "control/profiles/timeline.h"

#include "control/profiles/call_tree.h"
#include "control/profiles/limits.h"
#include "control/profiles/name_table.h"
#include "control/profiles/slices.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

// Writes `"name":[…]` with one number a slice.
template <typename Value>
void appendColumn(std::string* out, std::string_view name, const std::vector<Slice>& slices,
                  const Value& value) {
  *out += ",\"";
  *out += name;
  *out += "\":[";
  for (size_t i = 0; i < slices.size(); ++i) {
    if (i > 0) out->push_back(',');
    appendNumber(out, value(slices[i]));
  }
  out->push_back(']');
}

void appendThread(std::string* out, const Profile& profile, const ThreadSlices& thread,
                  const std::vector<uint32_t>& entry_of_node) {
  const Samples& samples = profile.samples;
  const size_t cpu = findColumn(profile, "cpu");
  *out += "{\"name\":";
  appendJsonString(out, profile.text(profile.threads[thread.thread]));
  const auto& slices = thread.slices;
  appendColumn(out, "t_ns", slices, [](const Slice& slice) { return slice.begin_ns; });
  appendColumn(out, "weight_ns", slices, [](const Slice& slice) { return slice.duration_ns; });
  appendColumn(out, "cpu_ns", slices, [&](const Slice& slice) {
    return cpu == kNoIndex ? 0 : samples.values[cpu][slice.row];
  });
  appendColumn(out, "stack", slices,
               [&](const Slice& slice) { return entry_of_node[samples.node[slice.row]]; });
  appendColumn(out, "state", slices,
               [&](const Slice& slice) { return shownState(samples.state[slice.row]); });
  out->push_back('}');
}

}  // namespace

std::string timelineJson(const Profile& profile) {
  const TimeAxis axis = timeAxis(profile);
  const FoldedTree folded = foldTree(profile, shownColumn(profile), Granularity::Functions);
  const PrunedTree tree = pruneTree(folded, kTreeNodesMax);
  std::vector<uint32_t> entry_of_node;
  entry_of_node.reserve(profile.nodes.size());
  for (const uint32_t node : folded.of_node) entry_of_node.push_back(tree.of_folded[node]);
  NameTable names(profile);
  const std::vector<int32_t> functions = names.numbers(tree.function);

  std::string out = "{\"start_unix_ns\":\"";
  appendNumber(&out, axis.start_unix_ns);
  out += "\",\"duration_ns\":";
  appendNumber(&out, axis.duration_ns);
  out.push_back(',');
  names.appendJson(&out);
  out += ",\"stacks\":{\"parent\":";
  appendJsonArray(&out, tree.parent);
  out += ",\"function\":";
  appendJsonArray(&out, functions);
  out += ",\"line\":";
  appendJsonArray(&out, tree.line);
  out += "},\"states\":[\"running\",\"waiting\",\"gil\",\"gc\"],\"threads\":[";
  for (size_t i = 0; i < axis.threads.size(); ++i) {
    if (i > 0) out.push_back(',');
    appendThread(&out, profile, axis.threads[i], entry_of_node);
  }
  out += "]}\n";
  return out;
}

}  // namespace flamegate::control
