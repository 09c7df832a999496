#include "config/load/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/load/checks.h"
#include "config/load/reader.h"
#include "config/load/sections.h"
#include "config/load/text_rules.h"
#include "config/load/tree.h"
#include "config/load/unavailable.h"
#include "config/load/visitors.h"

namespace flamegate::config {
namespace {

std::string absolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path.empty() ? "." : path, error);
  return error ? path : absolute.lexically_normal().string();
}

// Fills in what follows from other keys.
void complete(Config& config) {
  for (Cluster& cluster : config.clusters) {
    if (cluster.service.empty()) cluster.service = cluster.name;
  }
  for (Collect& entry : config.collect) {
    if (entry.service.empty()) entry.service = entry.name;
    const auto origin = parseOrigin(entry.url);
    if (entry.host.empty() && origin) entry.host = origin->host;
  }
  if (config.routes.empty() && !config.clusters.empty()) {
    Route route;
    route.cluster = config.clusters.front().name;
    route.profiling = config.profiling.policy;
    config.routes.push_back(std::move(route));
  }
  for (Route& route : config.routes) {
    const auto found =
        std::find_if(config.clusters.begin(), config.clusters.end(),
                     [&route](const Cluster& cluster) { return cluster.name == route.cluster; });
    route.cluster_index = static_cast<size_t>(found - config.clusters.begin());
  }
}

Config readConfig(const Node& root, Faults& faults) {
  Config config;
  if (root.kind == Node::Kind::Faulty) return config;
  static const Node kEmptyMap{Node::Kind::Map, {1, 1}, {}, {}, {}};
  Reader reader(root.kind == Node::Kind::Null ? kEmptyMap : root, {}, faults);
  reader.map([&config](Visitor& v) { describeConfig(v, config); });
  if (config.clusters.empty() && config.routes.empty() && root.kind != Node::Kind::List) {
    faults.add(locate(root, "clusters").node->at, "clusters",
               "is required, unless a route has a cluster of its own");
  }
  return config;
}

// The common end of all ways to a configuration.
Loading interpret(Node root, const std::string& name, const std::string& base_dir,
                  const LoadOptions& options, Faults& faults) {
  Faults warnings(name);
  reportUnavailable(root, faults);
  Loaded loaded{readConfig(root, faults), {}};
  complete(loaded.config);
  resolvePaths(loaded.config, base_dir);
  if (root.kind != Node::Kind::Faulty) {
    Findings findings(root, faults, warnings);
    checkConfig(loaded.config, findings);
    // Files are looked at once their names are right.
    if (options.check_files && faults.empty()) checkFiles(loaded.config, options.judge, findings);
  }
  if (!faults.empty()) return tl::unexpected(faults.take());
  loaded.warnings = warnings.take();
  return loaded;
}

Loading oneFault(const std::string& name, std::string path, std::string message) {
  return tl::unexpected(std::vector<Fault>{{name, {}, std::move(path), std::move(message)}});
}

Node scalarNode(std::string text) {
  Node node;
  node.kind = Node::Kind::Scalar;
  node.text = std::move(text);
  return node;
}

Node mapNode(std::vector<Entry> entries) {
  Node node;
  node.kind = Node::Kind::Map;
  node.entries = std::move(entries);
  return node;
}

Node listNode(Node element) {
  Node node;
  node.kind = Node::Kind::List;
  node.items.push_back(std::move(element));
  return node;
}

// The cluster behind `--upstream`; Null when the text names none.
Node upstreamNode(const std::string& upstream) {
  std::vector<Entry> cluster{{"name", {}, scalarNode("app")}};
  const auto unix_socket = parseAddress(upstream);
  const auto origin = parseOrigin(upstream);
  if (unix_socket && unix_socket->isUnix()) {
    cluster.push_back({"endpoints", {}, listNode(scalarNode(upstream))});
  } else if (origin && (origin->rest.empty() || origin->rest == "/")) {
    const Address endpoint = Address::tcp(origin->host, origin->port);
    cluster.push_back({"endpoints", {}, listNode(scalarNode(formatAddress(endpoint)))});
    if (origin->tls) cluster.push_back({"tls", {}, mapNode({})});
  } else {
    return {};
  }
  return listNode(mapNode(std::move(cluster)));
}

Node storeNode(const std::string& store) {
  const std::string_view text = store;
  if (text.substr(0, 8) != "redis://" && text.substr(0, 9) != "rediss://") {
    return mapNode({{"path", {}, scalarNode(store)}});
  }
  Node redis = mapNode({{"url", {}, scalarNode(store)}});
  return mapNode({{"kind", {}, scalarNode("redis")}, {"redis", {}, std::move(redis)}});
}

}  // namespace

Loading loadText(std::string_view text, const std::string& name, const std::string& base_dir,
                 const LoadOptions& options) {
  Faults faults(name);
  Node root = parseTree(text, faults);
  expandVariables(root, options.environment, faults);
  return interpret(std::move(root), name, base_dir, options, faults);
}

Loading loadFile(const std::string& path, const LoadOptions& options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return oneFault(path, {}, "is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream.is_open()) {
    return oneFault(path, {}, std::string("cannot be opened: ") + std::strerror(errno));
  }
  std::string text(kFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return oneFault(path, {}, "cannot be read");
  text.resize(static_cast<size_t>(stream.gcount()));
  const auto directory = std::filesystem::path(path).parent_path().string();
  return loadText(text, path, absolutePath(directory), options);
}

Loading fromCommandLine(const CommandLine& line, const LoadOptions& options) {
  const std::string name = "command line";
  const std::string listen = line.listen.empty() ? "127.0.0.1:8080" : line.listen;
  const std::string upstream = line.upstream.empty() ? "http://127.0.0.1:3000" : line.upstream;
  Node clusters = upstreamNode(upstream);
  if (clusters.kind == Node::Kind::Null) {
    return oneFault(name, "--upstream",
                    "must be http://host:port or unix:/path, not " + inQuotes(upstream));
  }
  Node listener = mapNode({{"address", {}, scalarNode(listen)}});
  std::vector<Entry> entries{{"listeners", {}, listNode(std::move(listener))},
                             {"clusters", {}, std::move(clusters)}};
  if (!line.store.empty()) entries.push_back({"store", {}, storeNode(line.store)});
  Faults faults(name);
  return interpret(mapNode(std::move(entries)), name, absolutePath({}), options, faults);
}

}  // namespace flamegate::config
