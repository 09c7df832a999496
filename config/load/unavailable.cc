#include "config/load/unavailable.h"

#include <algorithm>
#include <utility>

namespace flamegate::config {
namespace {

using When = Unavailable::When;

bool isIn(const std::vector<std::string_view>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool holds(const Unavailable& entry, const Node& node) {
  const bool scalar = node.kind == Node::Kind::Scalar;
  switch (entry.when) {
    case When::Given:
      return true;
    case When::NotEmpty:
      return !node.items.empty() || !node.entries.empty();
    case When::Is:
      return scalar && isIn(entry.texts, node.text);
    case When::IsNot:
      return !(scalar && isIn(entry.texts, node.text));
    case When::BeginsWith:
      return scalar && node.text.substr(0, entry.texts.front().size()) == entry.texts.front();
  }
  return false;
}

// The path under which the list has a key that routes repeat.
std::string listedPath(std::string_view pattern) {
  constexpr std::pair<std::string_view, std::string_view> kRepeated[] = {
      {"routes[].profiling.", "profiling."}, {"routes[].cluster.", "clusters[]."}};
  for (const auto& [repeated, listed] : kRepeated) {
    if (pattern.substr(0, repeated.size()) != repeated) continue;
    return std::string(listed).append(pattern.substr(repeated.size()));
  }
  return std::string(pattern);
}

// `path` with its indexes; `pattern` without them.
void report(Node& node, const std::string& path, const std::string& pattern, Faults& faults) {
  if (node.kind == Node::Kind::Null || node.kind == Node::Kind::Faulty) return;
  const std::string listed = listedPath(pattern);
  for (const Unavailable& entry : unavailableKeys()) {
    if (entry.path != listed || !holds(entry, node)) continue;
    faults.add(node.at, path, "not available yet");
    node.kind = Node::Kind::Faulty;
    return;
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    report(node.items[i], indexPath(path, i), pattern + "[]", faults);
  }
  for (Entry& entry : node.entries) {
    report(entry.value, joinPath(path, entry.key), joinPath(pattern, entry.key), faults);
  }
}

}  // namespace

const std::vector<Unavailable>& unavailableKeys() {
  static const std::vector<Unavailable> kKeys = {
      {"clusters[].sidecar", When::Given, {}},
      {"profiling.trigger.path_segment", When::Is, {"true"}},
      {"profiling.slow", When::Given, {}},
      {"control.address", When::IsNot, {"auto"}},
      {"control.agents.tls.alpn[]", When::Is, {"h2"}},
      {"store.redis.url", When::BeginsWith, {"rediss:"}},
      {"store.redis.cluster", When::Is, {"true"}},
      {"store.redis.sentinel.master", When::Given, {}},
      {"store.redis.sentinel.addresses", When::NotEmpty, {}},
      {"store.redis.ca", When::Given, {}},
      {"ingest.tokens", When::NotEmpty, {}},
      {"collect", When::NotEmpty, {}},
      {"forward", When::NotEmpty, {}},
  };
  return kKeys;
}

void reportUnavailable(Node& root, Faults& faults) { report(root, {}, {}, faults); }

}  // namespace flamegate::config
