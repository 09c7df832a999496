// Sums over the call tree, and walks through it. Nothing here recurses: trees are as deep as a
// stack may be, and threads' own stacks may be small.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/profiles/model.h"

namespace flamegate::control {

// Values of one column by node of the profile.
struct CallTree {
  std::vector<int64_t> self;
  std::vector<int64_t> total;
  std::vector<int64_t> samples;  // how many samples the total stands for
};
// kNoIndex: all values 0, but samples counted.
CallTree callTree(const Profile& profile, size_t column);

// Children of each node, in order of their numbers: a linked list through `next`.
struct ChildLists {
  std::vector<uint32_t> first;  // kNoIndex: no children
  std::vector<uint32_t> next;   // kNoIndex: the last child
};
// parents[i] < i, and the root is 0.
ChildLists childLists(std::span<const uint32_t> parents);
ChildLists childLists(std::span<const Node> nodes);

// Calls enter(node) before a node's children and leave(node) after them, beginning at node 0.
template <typename Enter, typename Leave>
void walkTree(const ChildLists& children, const Enter& enter, const Leave& leave) {
  std::vector<uint32_t> path;
  uint32_t node = children.first.empty() ? kNoIndex : 0;
  while (node != kNoIndex || !path.empty()) {
    if (node == kNoIndex) {
      const uint32_t done = path.back();
      path.pop_back();
      leave(done);
      node = children.next[done];
    } else {
      enter(node);
      path.push_back(node);
      node = children.first[node];
    }
  }
}

enum class Granularity : uint8_t { Functions, Lines };

// The call tree by function: calls of one function from one path are one node, whatever lines they
// come from; or by line, as in the profile. Node 0 is the root, parents precede children.
struct FoldedTree {
  std::vector<uint32_t> parent;      // kNoIndex at the root
  std::vector<FunctionId> function;  // kNoIndex at the root
  std::vector<int32_t> line;         // by function: the line of the largest total
  std::vector<int64_t> self;
  std::vector<int64_t> total;
  std::vector<int64_t> samples;   // of the total
  std::vector<uint32_t> of_node;  // node of the profile → node here

  size_t size() const { return parent.size(); }
};
FoldedTree foldTree(const Profile& profile, size_t column, Granularity granularity);

// The pseudo functions of a PrunedTree.
inline constexpr int32_t kRootFunction = -1;
inline constexpr int32_t kPrunedFunction = -2;

// The largest part of a folded tree, in the order in which a viewer draws it: a node before its
// children, children by falling total. What does not fit is one child (kPrunedFunction) of the node
// that it was below of, so that all totals stay true.
struct PrunedTree {
  std::vector<int32_t> parent;    // -1 at the root
  std::vector<int32_t> function;  // a FunctionId or a pseudo function
  std::vector<int32_t> line;
  std::vector<int64_t> self;
  std::vector<int64_t> total;
  std::vector<int64_t> samples;
  std::vector<uint32_t> of_folded;  // node of the folded tree → node here
  size_t pruned_nodes = 0;
  int64_t pruned_value = 0;

  size_t size() const { return parent.size(); }
};
// At most nodes_max nodes (but 2 at least), the pseudo ones included.
PrunedTree pruneTree(const FoldedTree& tree, size_t nodes_max);

}  // namespace flamegate::control
