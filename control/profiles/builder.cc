#include "control/profiles/builder.h"

#include <algorithm>
#include <utility>

#include "control/profiles/limits.h"
#include "control/profiles/text.h"
#include "proxy/base/check.h"

namespace flamegate::control {
namespace {

int32_t clampLine(int64_t line) {
  return static_cast<int32_t>(std::clamp<int64_t>(line, 0, INT32_MAX));
}

}  // namespace

ProfileBuilder::ProfileBuilder() {
  nodes_.intern(Node{});
  thread_of_name_.push_back(0);
}

StringId ProfileBuilder::string(std::string_view text) {
  if (text.size() <= kStringBytesMax && isValidUtf8(text)) return strings_.intern(text);
  bool cut = false;
  const std::string clean = cleanText(text, kStringBytesMax, &cut);
  if (cut) ++profile_.loss.cut_strings;
  return strings_.intern(clean);
}

FunctionId ProfileBuilder::function(std::string_view name, std::string_view file, int64_t line) {
  return functions_.intern({string(name), string(file), clampLine(line)});
}

FrameId ProfileBuilder::frame(FunctionId function, int64_t line, int64_t column) {
  return frames_.intern({function, clampLine(line), clampLine(column)});
}

ThreadId ProfileBuilder::thread(StringId name) {
  if (name >= thread_of_name_.size()) thread_of_name_.resize(name + 1, kNoIndex);
  ThreadId& known = thread_of_name_[name];
  if (known == kNoIndex) {
    known = static_cast<ThreadId>(profile_.threads.size());
    profile_.threads.push_back(name);
  }
  return known;
}

NodeId ProfileBuilder::child(NodeId parent, FrameId frame) {
  if (nodes_.size() >= kNodesMax) {
    fault_ = "more than 4,000,000 call-tree nodes";
    return kRootNode;
  }
  return nodes_.intern({parent, frame});
}

FrameId ProfileBuilder::truncationMark() {
  ++profile_.loss.truncated_stacks;
  return frame(function(kTruncatedName));
}

NodeId ProfileBuilder::stack(std::span<const FrameId> root_first) {
  std::vector<FrameId> cut;
  if (root_first.size() > kDepthMax) {
    cut.assign(root_first.begin(), root_first.begin() + kDepthRootSide);
    cut.push_back(truncationMark());
    cut.insert(cut.end(), root_first.end() - kDepthLeafSide, root_first.end());
    root_first = cut;
  }
  const auto differs = std::ranges::mismatch(root_first, last_frames_);
  const auto shared = static_cast<size_t>(differs.in1 - root_first.begin());
  NodeId node = shared == 0 ? kRootNode : last_nodes_[shared - 1];
  last_frames_.resize(shared);
  last_nodes_.resize(shared);
  for (const FrameId frame : root_first.subspan(shared)) {
    node = child(node, frame);
    last_frames_.push_back(frame);
    last_nodes_.push_back(node);
  }
  return node;
}

size_t ProfileBuilder::valueColumn(std::string_view type, std::string_view unit) {
  const ValueType wanted{string(type), string(unit)};
  auto& types = profile_.value_types;
  const auto known = std::ranges::find(types, wanted);
  if (known != types.end()) return static_cast<size_t>(known - types.begin());
  if (types.size() >= kValueTypesMax) {
    fault_ = "more than 16 types of values";
    return 0;
  }
  types.push_back(wanted);
  profile_.samples.values.emplace_back(profile_.samples.size(), 0);
  return types.size() - 1;
}

void ProfileBuilder::addSample(const SampleRow& row, std::span<const int64_t> values) {
  Samples& samples = profile_.samples;
  if (samples.size() >= kSamplesMax) {
    fault_ = "more than 200,000 samples";
    return;
  }
  CHECK(values.size() <= samples.values.size());
  samples.node.push_back(row.node);
  samples.thread.push_back(row.thread);
  samples.state.push_back(row.state);
  samples.labels.push_back(row.labels);
  samples.timestamp_ns.push_back(std::max<int64_t>(row.timestamp_ns, 0));
  for (size_t column = 0; column < samples.values.size(); ++column) {
    samples.values[column].push_back(column < values.size() ? values[column] : 0);
  }
}

void ProfileBuilder::reserveSamples(size_t count) {
  Samples& samples = profile_.samples;
  samples.node.reserve(count);
  samples.thread.reserve(count);
  samples.state.reserve(count);
  samples.labels.reserve(count);
  samples.timestamp_ns.reserve(count);
  for (auto& column : samples.values) column.reserve(count);
}

void ProfileBuilder::addToValue(size_t row, size_t column, int64_t value) {
  int64_t& sum = profile_.samples.values[column][row];
  sum = addSaturating(sum, value);
}

void ProfileBuilder::comment(std::string_view text) {
  const StringId id = string(text);
  auto& comments = profile_.comments;
  if (comments.size() >= kCommentsMax || std::ranges::find(comments, id) != comments.end()) return;
  comments.push_back(id);
}

void ProfileBuilder::setPeriod(std::string_view type, std::string_view unit, int64_t period) {
  profile_.period_type = {string(type), string(unit)};
  profile_.period = std::max<int64_t>(period, 0);
}

void ProfileBuilder::setSpan(int64_t start_unix_ns, int64_t duration_ns) {
  profile_.start_unix_ns = std::max<int64_t>(start_unix_ns, 0);
  profile_.duration_ns = std::max<int64_t>(duration_ns, 0);
}

std::string_view ProfileBuilder::text(StringId id) const {
  const auto bytes = strings_.pool()[id];
  return {bytes.data(), bytes.size()};
}

proxy::Result<Profile> ProfileBuilder::take() {
  if (!fault_.empty()) {
    return proxy::fail(proxy::ErrorCode::TooLarge, proxy::ErrorSource::Agent, std::string(fault_));
  }
  profile_.strings = strings_.take();
  profile_.functions = functions_.take();
  profile_.frames = frames_.take();
  profile_.nodes = nodes_.take();
  profile_.label_sets = label_sets_.take();
  return std::move(profile_);
}

}  // namespace flamegate::control
