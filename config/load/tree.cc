#include "config/load/tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/schema/scalars.h"

namespace flamegate::config {
namespace {

Position positionOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {1, 1};
  return {mark.line + 1, mark.column + 1};
}

// Ends the parse of a document from inside a callback.
struct Refused {
  Position at;
  std::string message;
};

// Builds the tree from the parser's events.
// Owner: parseTree. Ends by an exception: the parser's own, or Refused.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Faults& faults) : faults_(faults) { root_.at = {1, 1}; }

  Node takeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.at = positionOf(mark);
    countNode(node);
    add(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuseTag(mark, tag);
    Node node;
    node.kind = Node::Kind::Scalar;
    node.at = positionOf(mark);
    node.text = value;
    countNode(node);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw Refused{positionOf(mark), "an alias within its own anchor"};
    countTree(found->second);
    add(found->second, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::List, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override {
    reportDuplicateKeys(open_.back().node);
    close();
  }

 private:
  // A list or map whose end has not come.
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    std::optional<Entry> pending;  // key of a map whose value comes next
  };

  static void refuseTag(const YAML::Mark& mark, const std::string& tag) {
    const bool plain_or_quoted = tag.empty() || tag == "?" || tag == "!";
    if (!plain_or_quoted) throw Refused{positionOf(mark), "tags are not supported"};
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuseTag(mark, tag);
    if (open_.size() == kDepthMax) {
      throw Refused{positionOf(mark),
                    "nested deeper than " + std::to_string(kDepthMax) + " levels"};
    }
    Open opened{{}, anchor, std::nullopt};
    opened.node.kind = kind;
    opened.node.at = positionOf(mark);
    countNode(opened.node);
    open_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed.node), closed.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      countTree(node);
      anchored_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::List) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.pending) {
      parent.pending = keyOf(std::move(node));
    } else {
      parent.pending->value = std::move(node);
      parent.node.entries.push_back(std::move(*parent.pending));
      parent.pending.reset();
    }
  }

  static Entry keyOf(Node node) {
    if (node.kind != Node::Kind::Scalar) throw Refused{node.at, "a key must be a text"};
    if (node.text == "<<") throw Refused{node.at, "merge keys are not supported"};
    return {std::move(node.text), node.at, {}};
  }

  void countNode(const Node& node) {
    ++nodes_;
    text_bytes_ += node.text.size();
    if (nodes_ > kNodesMax) {
      throw Refused{node.at, "more than " + std::to_string(kNodesMax) + " values"};
    }
    if (text_bytes_ > kTextBytesMax) {
      throw Refused{node.at, "more than " + formatSize(kTextBytesMax) + " of text"};
    }
  }

  // For what is copied: an anchor's content once, and once more for each alias.
  void countTree(const Node& node) {
    countNode(node);
    for (const Node& item : node.items) countTree(item);
    for (const Entry& entry : node.entries) {
      text_bytes_ += entry.key.size();
      countTree(entry.value);
    }
  }

  void reportDuplicateKeys(Node& map) {
    std::vector<size_t> order(map.entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&map](size_t a, size_t b) {
      return map.entries[a].key < map.entries[b].key;
    });
    std::vector<bool> repeated(order.size());
    for (size_t i = 1; i < order.size(); ++i) {
      const Entry& first = map.entries[order[i - 1]];
      const Entry& second = map.entries[order[i]];
      if (first.key != second.key) continue;
      repeated[order[i]] = true;
      faults_.add(second.at, joinPath(pathOfOpen(), second.key),
                  "is given twice; before at line " + std::to_string(first.at.line));
    }
    size_t index = 0;
    std::erase_if(map.entries, [&](const Entry&) { return repeated[index++]; });
  }

  std::string pathOfOpen() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      const Open& level = open_[i];
      path = level.node.kind == Node::Kind::List ? indexPath(path, level.node.items.size())
             : level.pending                     ? joinPath(path, level.pending->key)
                                                 : path;
    }
    return path;
  }

  Faults& faults_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  size_t nodes_ = 0;
  size_t text_bytes_ = 0;
};

// Counts documents and builds nothing.
class NoMoreDocuments final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw Refused{positionOf(mark), "a second document begins; one file holds one"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

const Entry* Node::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::string_view kindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::Null:
      return "nothing";
    case Node::Kind::Scalar:
      return "a single value";
    case Node::Kind::List:
      return "a list";
    case Node::Kind::Map:
      return "a map";
    case Node::Kind::Faulty:
      return "a faulty value";
  }
  return "a value";
}

std::string joinPath(std::string_view outer, std::string_view inner) {
  std::string path(outer);
  if (!path.empty()) path += '.';
  return path.append(inner);
}

std::string indexPath(std::string_view list, size_t index) {
  return std::string(list).append("[").append(std::to_string(index)).append("]");
}

Node parseTree(std::string_view text, Faults& faults) {
  if (text.size() > kFileBytesMax) {
    faults.add({1, 1}, {}, "the file is larger than " + formatSize(kFileBytesMax));
    return {Node::Kind::Faulty, {1, 1}, {}, {}, {}};
  }
  TreeBuilder builder(faults);
  Refused refused;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    NoMoreDocuments rest;
    parser.HandleNextDocument(rest);
    return builder.takeRoot();
  } catch (const Refused& reason) {
    refused = reason;
  } catch (const YAML::Exception& error) {
    refused = {positionOf(error.mark), "not valid YAML: " + error.msg};
  } catch (const std::exception& error) {
    refused = {{1, 1}, std::string("not readable as YAML: ") + error.what()};
  }
  faults.add(refused.at, {}, refused.message);
  return {Node::Kind::Faulty, {1, 1}, {}, {}, {}};
}

Located locate(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const Node* next = nullptr;
    if (path.front() == '[') {
      const size_t close = std::min(path.find(']'), path.size());
      const auto index = parseInteger(path.substr(1, close - 1), SIZE_MAX);
      if (index && *index < node->items.size()) next = &node->items[*index];
      path.remove_prefix(std::min(close + 1, path.size()));
    } else {
      const size_t end = std::min(path.find_first_of(".["), path.size());
      const Entry* entry = node->find(path.substr(0, end));
      if (entry != nullptr) next = &entry->value;
      path.remove_prefix(end);
    }
    if (next == nullptr) return {node, false};
    node = next;
  }
  return {node, true};
}

}  // namespace flamegate::config
