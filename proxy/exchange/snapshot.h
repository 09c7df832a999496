// The configuration in force, ready for use.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "proxy/exchange/traffic_stats.h"
#include "proxy/net/tls_files.h"
#include "proxy/profiling/setup.h"
#include "proxy/route/router.h"
#include "proxy/upstream/cluster.h"

namespace flamegate::proxy {

// Immutable; the only thing that workers share. An exchange keeps the one it began with.
// Owner: shared const pointers of the workers' contexts. Thread: any, read only.
struct Snapshot {
  config::Config config;
  std::vector<size_t> listener_ids;  // as config.listeners
  std::unique_ptr<Router> router;
  std::shared_ptr<const TrafficLabels> traffic_labels;
  // One entry a cluster of the configuration, in its order, and control as the last.
  std::vector<std::shared_ptr<Cluster>> upstreams;
  std::unique_ptr<ProfilingSetup> profiling;
  // One a listener; null: clear text. The one thing here that changes: renewed as its files are.
  std::vector<std::unique_ptr<TlsListener>> tls;

  // A number of a listener's address that it keeps over reloads, wherever it then stands in the
  // list.
  static size_t listenerId(const config::Listener& listener) {
    return std::hash<std::string>()(config::formatAddress(listener.address));
  }
  // The place of the listener with this id; nothing when this configuration has none.
  std::optional<size_t> findListener(size_t id) const {
    const auto found = std::find(listener_ids.begin(), listener_ids.end(), id);
    if (found == listener_ids.end()) return std::nullopt;
    return static_cast<size_t>(found - listener_ids.begin());
  }

  size_t controlCluster() const { return upstreams.size() - 1; }
};

}  // namespace flamegate::proxy
