#include "control/profiles/call_tree.h"

#include <algorithm>
#include <numeric>

#include "control/profiles/summary.h"

namespace flamegate::control {
namespace {

struct FoldedKey {
  uint32_t parent = kNoIndex;
  FunctionId function = kNoIndex;
  int32_t line = 0;
  bool operator==(const FoldedKey&) const = default;
  uint64_t hash(uint64_t seed) const {
    return mixHash(seed ^ static_cast<uint32_t>(line), (uint64_t{parent} << 32) | function);
  }
};

// Which nodes stay: the largest, and never one without its parent. Adding a node costs a place for
// itself, and one for the remainder below it until all its children are in. Once the places are
// taken, only nodes that fill the place of a remainder follow.
std::vector<bool> chooseNodes(const FoldedTree& tree, size_t nodes_max) {
  const size_t size = tree.size();
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin() + 1, order.end(), [&](uint32_t a, uint32_t b) {
    return tree.total[a] != tree.total[b] ? tree.total[a] > tree.total[b] : a < b;
  });
  std::vector<uint32_t> missing(size, 0);  // children that are not in
  for (size_t i = 1; i < size; ++i) ++missing[tree.parent[i]];

  std::vector<bool> kept(size, false);
  kept[0] = true;
  size_t places = 1 + (missing[0] > 0 ? 1 : 0);
  bool full = false;
  for (size_t i = 1; i < size; ++i) {
    const uint32_t node = order[i];
    const uint32_t parent = tree.parent[node];
    if (!kept[parent]) continue;
    const size_t after = places + 1 + (missing[node] > 0 ? 1 : 0) - (missing[parent] == 1 ? 1 : 0);
    full = full || after > nodes_max;
    if (full && after > places) continue;
    places = after;
    --missing[parent];
    kept[node] = true;
  }
  return kept;
}

// The tree before it is put in order: kept nodes and remainders, parents first.
struct Draft {
  std::vector<uint32_t> parent;
  std::vector<uint32_t> source;  // node of the folded tree; kNoIndex: a remainder
  std::vector<int64_t> total;
  std::vector<int64_t> samples;
  std::vector<uint32_t> of_folded;
  size_t pruned_nodes = 0;

  uint32_t add(uint32_t above, uint32_t node, int64_t value, int64_t count) {
    parent.push_back(above);
    source.push_back(node);
    total.push_back(value);
    samples.push_back(count);
    return static_cast<uint32_t>(parent.size() - 1);
  }
};

Draft draftTree(const FoldedTree& tree, const std::vector<bool>& kept) {
  Draft draft;
  draft.of_folded.resize(tree.size());
  std::vector<uint32_t> remainder(tree.size(), kNoIndex);  // by kept node of the folded tree
  for (uint32_t node = 0; node < tree.size(); ++node) {
    const uint32_t parent = tree.parent[node];
    if (kept[node]) {
      const uint32_t above = node == 0 ? kNoIndex : draft.of_folded[parent];
      draft.of_folded[node] = draft.add(above, node, tree.total[node], tree.samples[node]);
      continue;
    }
    ++draft.pruned_nodes;
    if (!kept[parent]) {
      draft.of_folded[node] = draft.of_folded[parent];
      continue;
    }
    uint32_t& rest = remainder[parent];
    if (rest == kNoIndex) rest = draft.add(draft.of_folded[parent], kNoIndex, 0, 0);
    draft.total[rest] = addSaturating(draft.total[rest], tree.total[node]);
    draft.samples[rest] = addSaturating(draft.samples[rest], tree.samples[node]);
    draft.of_folded[node] = rest;
  }
  return draft;
}

// Children by falling total; equal ones stay in order.
ChildLists sortedChildren(const Draft& draft) {
  const size_t size = draft.parent.size();
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return draft.total[a] != draft.total[b] ? draft.total[a] < draft.total[b] : a > b;
  });
  ChildLists lists{std::vector<uint32_t>(size, kNoIndex), std::vector<uint32_t>(size, kNoIndex)};
  for (const uint32_t node : order) {
    if (node == 0) continue;
    uint32_t& first = lists.first[draft.parent[node]];
    lists.next[node] = first;
    first = node;
  }
  return lists;
}

}  // namespace

CallTree callTree(const Profile& profile, size_t column) {
  const size_t size = profile.nodes.size();
  CallTree tree{std::vector<int64_t>(size, 0), {}, std::vector<int64_t>(size, 0)};
  const Samples& samples = profile.samples;
  const size_t counts = findColumn(profile, "samples");
  for (size_t row = 0; row < samples.size(); ++row) {
    const NodeId node = samples.node[row];
    if (column != kNoIndex) {
      tree.self[node] = addSaturating(tree.self[node], samples.values[column][row]);
    }
    tree.samples[node] = addSaturating(tree.samples[node], sampleCountOf(profile, counts, row));
  }
  tree.total = tree.self;
  for (size_t node = size; node-- > 1;) {
    const NodeId parent = profile.nodes[node].parent;
    tree.total[parent] = addSaturating(tree.total[parent], tree.total[node]);
    tree.samples[parent] = addSaturating(tree.samples[parent], tree.samples[node]);
  }
  return tree;
}

ChildLists childLists(std::span<const uint32_t> parents) {
  ChildLists lists{std::vector<uint32_t>(parents.size(), kNoIndex),
                   std::vector<uint32_t>(parents.size(), kNoIndex)};
  for (size_t node = parents.size(); node-- > 1;) {
    uint32_t& first = lists.first[parents[node]];
    lists.next[node] = first;
    first = static_cast<uint32_t>(node);
  }
  return lists;
}

ChildLists childLists(std::span<const Node> nodes) {
  std::vector<uint32_t> parents;
  parents.reserve(nodes.size());
  for (const Node& node : nodes) parents.push_back(node.parent);
  return childLists(parents);
}

FoldedTree foldTree(const Profile& profile, size_t column, Granularity granularity) {
  const CallTree values = callTree(profile, column);
  InternTable<FoldedKey> keys;
  FoldedTree tree;
  tree.of_node.resize(profile.nodes.size());
  std::vector<int64_t> line_total;  // of the line that stands for the node
  for (NodeId node = 0; node < profile.nodes.size(); ++node) {
    FoldedKey key;
    int32_t line = 0;
    if (node != kRootNode) {
      const Frame& frame = profile.frames[profile.nodes[node].frame];
      line = frame.line;
      key = {tree.of_node[profile.nodes[node].parent], frame.function,
             granularity == Granularity::Lines ? line : 0};
    }
    const uint32_t index = keys.intern(key);
    tree.of_node[node] = index;
    if (index == tree.size()) {
      tree.parent.push_back(key.parent);
      tree.function.push_back(key.function);
      tree.line.push_back(line);
      tree.self.push_back(0);
      tree.total.push_back(0);
      tree.samples.push_back(0);
      line_total.push_back(values.total[node]);
    }
    tree.self[index] = addSaturating(tree.self[index], values.self[node]);
    tree.total[index] = addSaturating(tree.total[index], values.total[node]);
    tree.samples[index] = addSaturating(tree.samples[index], values.samples[node]);
    if (values.total[node] > line_total[index]) {
      line_total[index] = values.total[node];
      tree.line[index] = line;
    }
  }
  return tree;
}

PrunedTree pruneTree(const FoldedTree& tree, size_t nodes_max) {
  const Draft draft = draftTree(tree, chooseNodes(tree, std::max<size_t>(nodes_max, 2)));
  PrunedTree out;
  out.pruned_nodes = draft.pruned_nodes;
  std::vector<uint32_t> of_draft(draft.parent.size());
  const auto enter = [&](uint32_t node) {
    const uint32_t source = draft.source[node];
    const bool rest = source == kNoIndex;
    of_draft[node] = static_cast<uint32_t>(out.size());
    out.parent.push_back(node == 0 ? -1 : static_cast<int32_t>(of_draft[draft.parent[node]]));
    out.function.push_back(rest ? kPrunedFunction : static_cast<int32_t>(tree.function[source]));
    out.line.push_back(rest ? 0 : tree.line[source]);
    out.self.push_back(rest ? draft.total[node] : tree.self[source]);
    out.total.push_back(draft.total[node]);
    out.samples.push_back(draft.samples[node]);
    if (rest) out.pruned_value = addSaturating(out.pruned_value, draft.total[node]);
  };
  walkTree(sortedChildren(draft), enter, [](uint32_t) {});
  out.of_folded.reserve(tree.size());
  for (const uint32_t node : draft.of_folded) out.of_folded.push_back(of_draft[node]);
  return out;
}

}  // namespace flamegate::control
