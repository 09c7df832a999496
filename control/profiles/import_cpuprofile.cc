#include <algorithm>
#include <array>

#include "control/profiles/builder.h"
#include "control/profiles/importers.h"
#include "control/profiles/json_input.h"
#include "control/profiles/limits.h"

namespace flamegate::control {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr int64_t kNsInMicrosecond = 1000;

// A node of V8's tree.
struct CpuNode {
  int64_t id = 0;
  uint32_t parent = kNoIndex;  // index into the list of nodes
  FrameId frame = 0;
  State state = State::Running;
  bool has_frame = true;  // not so for the root and for idle time
  int64_t hits = 0;
};

class CpuprofileReader {
 public:
  proxy::Result<Profile> read(const json& document);

 private:
  bool fail(std::string reason) {
    if (fault_.empty()) fault_ = std::move(reason);
    return false;
  }
  bool readNodes(const json& list);
  void readNode(const json& entry);
  bool linkNodes(const json& list);
  bool link(uint32_t parent, const json& child_id);
  bool readSamples(const json& document);
  void addHits();
  void addSample(uint32_t index, int64_t count, int64_t wall_ns);
  // kNoIndex when there is no node with that id.
  uint32_t findNode(int64_t id) const;
  NodeId stackOf(uint32_t index);

  ProfileBuilder builder_;
  std::vector<CpuNode> nodes_;
  std::vector<std::pair<int64_t, uint32_t>> by_id_;
  std::vector<NodeId> node_of_;  // kNoIndex: not needed so far
  std::vector<FrameId> stack_;
  std::string fault_;
};

proxy::Result<Profile> CpuprofileReader::read(const json& document) {
  builder_.valueColumn("samples", "count");
  builder_.valueColumn("wall", "nanoseconds");
  const json& list = memberOf(document, "nodes");
  if (!readNodes(list) || !linkNodes(list) || !readSamples(document)) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, fault_);
  }
  const int64_t lasted =
      addSaturating(integerOf(memberOf(document, "endTime")),
                    multiplySaturating(integerOf(memberOf(document, "startTime")), -1));
  builder_.setSpan(0, multiplySaturating(lasted, kNsInMicrosecond));
  return builder_.take();
}

bool CpuprofileReader::readNodes(const json& list) {
  if (!list.is_array()) return fail("nodes is not a list");
  for (const json& entry : list) readNode(entry);
  node_of_.assign(nodes_.size(), kNoIndex);
  std::ranges::sort(by_id_);
  const auto twice = std::ranges::adjacent_find(by_id_, {}, &std::pair<int64_t, uint32_t>::first);
  return twice == by_id_.end() || fail("node " + std::to_string(twice->first) + " is there twice");
}

void CpuprofileReader::readNode(const json& entry) {
  const json& place = memberOf(entry, "callFrame");
  const std::string_view name = textOf(memberOf(place, "functionName"));
  CpuNode node;
  node.id = integerOf(memberOf(entry, "id"));
  node.hits = integerOf(memberOf(entry, "hitCount"));
  node.has_frame = name != "(root)" && name != "(idle)";
  if (name == "(idle)") node.state = State::Waiting;
  if (name == "(garbage collector)") node.state = State::Gc;
  const int64_t line = addSaturating(integerOf(memberOf(place, "lineNumber"), -1), 1);
  node.frame = builder_.frame(
      builder_.function(name.empty() ? "(anonymous)" : name, textOf(memberOf(place, "url")), line));
  by_id_.emplace_back(node.id, static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(node);
}

bool CpuprofileReader::linkNodes(const json& list) {
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const json& parent = memberOf(list[index], "parent");
    if (parent.is_number()) {
      const uint32_t above = findNode(integerOf(parent));
      if (above == kNoIndex) return fail("a node's parent is not among the nodes");
      nodes_[index].parent = above;
    }
    const json& children = memberOf(list[index], "children");
    if (!children.is_array()) continue;
    for (const json& child : children) {
      if (!link(index, child)) return false;
    }
  }
  return true;
}

bool CpuprofileReader::link(uint32_t parent, const json& child_id) {
  const uint32_t child = findNode(integerOf(child_id));
  if (child == kNoIndex) return fail("a node's child is not among the nodes");
  if (nodes_[child].parent != kNoIndex && nodes_[child].parent != parent) {
    return fail("a node has two parents");
  }
  nodes_[child].parent = parent;
  return true;
}

uint32_t CpuprofileReader::findNode(int64_t id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, &std::pair<int64_t, uint32_t>::first);
  return found != by_id_.end() && found->first == id ? found->second : kNoIndex;
}

// The walk to the root is bounded, because the links of a file may form a ring.
NodeId CpuprofileReader::stackOf(uint32_t index) {
  NodeId& known = node_of_[index];
  if (known != kNoIndex) return known;
  stack_.clear();
  size_t steps = 0;
  for (uint32_t at = index; at != kNoIndex && steps < kStackEntriesMax; at = nodes_[at].parent) {
    if (nodes_[at].has_frame) stack_.push_back(nodes_[at].frame);
    ++steps;
  }
  std::ranges::reverse(stack_);
  return known = builder_.stack(stack_);
}

void CpuprofileReader::addSample(uint32_t index, int64_t count, int64_t wall_ns) {
  builder_.addSample({.node = stackOf(index), .state = nodes_[index].state},
                     std::array{count, wall_ns});
}

// A sample stands for the time until the next one; V8's deltas may be negative, which is no time.
bool CpuprofileReader::readSamples(const json& document) {
  const json& samples = memberOf(document, "samples");
  const json& deltas = memberOf(document, "timeDeltas");
  if (samples.is_null()) {
    addHits();
    return true;
  }
  if (!samples.is_array() || !deltas.is_array() || samples.size() != deltas.size()) {
    return fail("samples and timeDeltas are not two lists of one length");
  }
  const int64_t start = integerOf(memberOf(document, "startTime"));
  const int64_t end = integerOf(memberOf(document, "endTime"), start);
  int64_t at = 0;
  for (size_t i = 0; i < samples.size() && builder_.fault().empty(); ++i) {
    const uint32_t index = findNode(integerOf(samples[i]));
    if (index == kNoIndex) return fail("a sample names a node that is not among the nodes");
    at = addSaturating(at, integerOf(deltas[i]));
    const int64_t left = addSaturating(end, multiplySaturating(addSaturating(start, at), -1));
    const int64_t lasted = i + 1 < samples.size() ? integerOf(deltas[i + 1]) : left;
    addSample(index, 1, multiplySaturating(std::max<int64_t>(lasted, 0), kNsInMicrosecond));
  }
  return true;
}

void CpuprofileReader::addHits() {
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    if (nodes_[index].hits > 0) addSample(index, nodes_[index].hits, 0);
  }
}

}  // namespace

proxy::Result<Profile> importCpuprofile(std::string_view bytes, const ImportOptions&) {
  const proxy::Result<json> document = parseJson(bytes);
  if (!document) return proxy::fail(document.error());
  return CpuprofileReader().read(*document);
}

}  // namespace flamegate::control
