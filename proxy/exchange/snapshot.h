// The configuration in force, ready for use.
#pragma once

#include <memory>
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
  std::unique_ptr<Router> router;
  std::shared_ptr<const TrafficLabels> traffic_labels;
  // One entry a cluster of the configuration, in its order, and control as the last.
  std::vector<std::shared_ptr<Cluster>> upstreams;
  std::unique_ptr<ProfilingSetup> profiling;
  // One a listener; null: clear text. The one thing here that changes: renewed as its files are.
  std::vector<std::unique_ptr<TlsListener>> tls;

  size_t controlCluster() const { return upstreams.size() - 1; }
};

}  // namespace flamegate::proxy
