// Reads a tree into the sections that describe themselves to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load/fault.h"
#include "config/load/tree.h"
#include "config/load/visitor.h"

namespace flamegate::config {

// Stands at one node. What the tree does not say keeps its value; what it says wrongly is reported
// and reading goes on, so that one pass finds every fault.
// Owner: the caller's frame. Thread: its caller's.
class Reader final : public Visitor {
 public:
  Reader(const Node& node, std::string path, Faults& faults)
      : node_(node), path_(std::move(path)), faults_(faults) {}

  void scalar(const Scalar& scalar) override;
  void map(const Body& body, std::string_view like = {}) override;
  void list(Elements& elements) override;
  void dictionary(Elements& elements) override;
  void scalarOrMap(const Scalar& scalar, const Body& body, std::string_view like = {}) override;
  bool enters(bool) override { return true; }

  void key(std::string_view name, Need need, const Value& value) override;
  void atMostOne(std::initializer_list<std::string_view> names) override;
  void exactlyOne(std::initializer_list<std::string_view> names) override;
  void needs(std::string_view key, std::string_view other) override;
  void refuse(std::string_view reason) override { fault(std::string(reason)); }

 private:
  // Whether the node is of this kind; reports it when it is of another.
  bool expect(Node::Kind kind, std::string_view wanted);
  bool given(std::string_view name) const;
  size_t countGiven(std::initializer_list<std::string_view> names) const;
  void reportUnknownKeys();
  void fault(std::string message) { faults_.add(node_.at, path_, std::move(message)); }

  const Node& node_;
  std::string path_;
  Faults& faults_;
  std::vector<std::string> known_;  // keys of the map so far
};

// The word of `words` that `written` was probably meant to be; empty when none is near.
std::string_view findNearest(std::string_view written, const std::vector<std::string>& words);

}  // namespace flamegate::config
