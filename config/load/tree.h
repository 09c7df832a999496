// A YAML document as a tree of positions and text, without types: what the schema is read from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load/fault.h"

namespace flamegate::config {

inline constexpr size_t kFileBytesMax = size_t{1} << 20;
inline constexpr size_t kDepthMax = 32;
// Values of a document, with what aliases repeat.
inline constexpr size_t kNodesMax = 65'536;
// Text of a document, with what aliases repeat.
inline constexpr size_t kTextBytesMax = size_t{4} << 20;

struct Entry;

struct Node {
  enum class Kind : unsigned char {
    Null,    // nothing was written: the key counts as absent
    Scalar,  // text
    List,
    Map,
    Faulty,  // already reported; to be passed over in silence
  };

  Kind kind = Kind::Null;
  Position at;
  std::string text;            // Scalar
  std::vector<Node> items;     // List
  std::vector<Entry> entries;  // Map, in the order of the file, no key twice

  const Entry* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Position at;  // of the key
  Node value;
};

// "a map", "a list", … for messages.
std::string_view kindName(Node::Kind kind);

// "outer.inner"; inner alone at the top.
std::string joinPath(std::string_view outer, std::string_view inner);
// "list[3]"
std::string indexPath(std::string_view list, size_t index);

// The one document in `text`; Null when it holds none. Faults: no YAML, a duplicate key, a second
// document, a tag, a limit above that is reached. What could not be read is then missing or Faulty.
Node parseTree(std::string_view text, Faults& faults);

// The node at `path`, or with `exact` false the nearest enclosing one that exists.
struct Located {
  const Node* node;
  bool exact;
};
Located locate(const Node& root, std::string_view path);

}  // namespace flamegate::config
