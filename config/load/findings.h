// What the checks of a whole configuration find.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "config/load/fault.h"
#include "config/load/tree.h"

namespace flamegate::config {

// Takes findings by the path of the key and puts them where the tree says that it was written.
// Owner: the load. The tree and both collections outlive it.
class Findings {
 public:
  Findings(const Node& root, Faults& faults, Faults& warnings)
      : root_(root), faults_(faults), warnings_(warnings) {}

  bool isWritten(std::string_view path) const { return locate(root_, path).exact; }

  void fault(std::string path, std::string message) {
    const Position at = locate(root_, path).node->at;
    faults_.add(at, std::move(path), std::move(message));
  }
  void warn(std::string path, std::string message) {
    const Position at = locate(root_, path).node->at;
    warnings_.add(at, std::move(path), std::move(message));
  }

 private:
  const Node& root_;
  Faults& faults_;
  Faults& warnings_;
};

}  // namespace flamegate::config
