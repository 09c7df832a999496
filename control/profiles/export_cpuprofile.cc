#include <algorithm>

#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/slices.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr int64_t kNsInMicrosecond = 1000;

// The thread with the largest sum of durations; nothing when there are no samples.
const ThreadSlices* heaviestThread(const TimeAxis& axis) {
  const ThreadSlices* heaviest = nullptr;
  int64_t most = -1;
  for (const ThreadSlices& thread : axis.threads) {
    int64_t sum = 0;
    for (const Slice& slice : thread.slices) sum = addSaturating(sum, slice.duration_ns);
    if (sum > most) {
      most = sum;
      heaviest = &thread;
    }
  }
  return heaviest;
}

// Node ids are nodes of the folded tree plus 1; the one after the last is "(idle)", for gaps.
class CpuprofileWriter {
 public:
  CpuprofileWriter(const Profile& profile, const TimeAxis& axis)
      : profile_(profile),
        axis_(axis),
        tree_(foldTree(profile, shownColumn(profile), Granularity::Functions)),
        hits_(tree_.size() + 1, 0) {}

  proxy::Result<std::string> write() {
    if (const ThreadSlices* thread = heaviestThread(axis_)) collect(thread->slices);
    const int64_t start_us = axis_.start_unix_ns / kNsInMicrosecond;
    std::string out = "{\"nodes\":[";
    if (!appendNodes(&out)) return exportTooLarge("cpuprofile");
    out += "],\"startTime\":";
    appendNumber(&out, start_us);
    out += ",\"endTime\":";
    appendNumber(&out, start_us + last_us_);
    out += ",\"samples\":";
    appendJsonArray(&out, samples_);
    out += ",\"timeDeltas\":";
    appendJsonArray(&out, deltas_);
    out += "}\n";
    return out;
  }

 private:
  // A sample stands for the time until the next, so a gap and the end are samples of their own.
  void collect(const std::vector<Slice>& slices) {
    const auto idle = static_cast<uint32_t>(tree_.size());
    int64_t previous_end = 0;
    for (const Slice& slice : slices) {
      if (slice.begin_ns > previous_end) addSample(idle, previous_end);
      addSample(tree_.of_node[profile_.samples.node[slice.row]], slice.begin_ns);
      previous_end = slice.end();
    }
    addSample(idle, previous_end);
  }

  void addSample(uint32_t node, int64_t at_ns) {
    const int64_t at_us = at_ns / kNsInMicrosecond;
    ++hits_[node];
    samples_.push_back(node + 1);
    deltas_.push_back(at_us - last_us_);
    last_us_ = at_us;
  }

  bool appendNodes(std::string* out) const {
    const ChildLists children = childLists(tree_.parent);
    const auto idle = static_cast<uint32_t>(tree_.size());
    for (uint32_t node = 0; node <= idle; ++node) {
      if (isOverExportLimit(*out)) return false;
      if (node > 0) out->push_back(',');
      appendNode(out, node, children);
    }
    return true;
  }

  void appendNode(std::string* out, uint32_t node, const ChildLists& children) const {
    const auto idle = static_cast<uint32_t>(tree_.size());
    const bool pseudo = node == 0 || node == idle;
    const Function function = pseudo ? Function{} : profile_.functions[tree_.function[node]];
    *out += "{\"id\":";
    appendNumber(out, node + 1);
    *out += ",\"callFrame\":{\"functionName\":";
    appendJsonString(out, node == 0      ? "(root)"
                          : node == idle ? "(idle)"
                                         : profile_.text(function.name));
    *out += ",\"scriptId\":\"0\",\"url\":";
    appendJsonString(out, profile_.text(function.file));
    *out += ",\"lineNumber\":";
    appendNumber(out, function.line - 1);
    *out += ",\"columnNumber\":-1},\"hitCount\":";
    appendNumber(out, hits_[node]);
    *out += ",\"children\":[";
    std::string_view separator;
    for (uint32_t child = node == idle ? kNoIndex : children.first[node]; child != kNoIndex;
         child = children.next[child]) {
      *out += separator;
      appendNumber(out, child + 1);
      separator = ",";
    }
    if (node == 0) {
      *out += separator;
      appendNumber(out, idle + 1);
    }
    *out += "]}";
  }

  const Profile& profile_;
  const TimeAxis& axis_;
  FoldedTree tree_;
  std::vector<int64_t> hits_;
  std::vector<uint32_t> samples_;
  std::vector<int64_t> deltas_;
  int64_t last_us_ = 0;
};

}  // namespace

proxy::Result<std::string> exportCpuprofile(const Profile& profile, const ExportContext&) {
  const TimeAxis axis = timeAxis(profile);
  return CpuprofileWriter(profile, axis).write();
}

}  // namespace flamegate::control
