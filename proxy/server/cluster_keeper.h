// Clusters as configured, with what keeps each of them up to date.
#pragma once

#include <memory>
#include <vector>

#include "config/schema/config.h"
#include "proxy/session/http1_client_session.h"
#include "proxy/session/http2_client_session.h"
#include "proxy/upstream/endpoint_updater.h"
#include "proxy/upstream/health_prober.h"

namespace flamegate::proxy {

// What keepers work with. Outlives them.
struct ClusterSurroundings {
  ClientSessionContext& sessions;  // of the main loop: for health checks
  Resolver& resolver;
  size_t workers = 1;
  EndpointUpdater::Options dns;
};

// One configured cluster, its resolver's work and its health checks. Stays over reloads that leave
// the cluster's section as it is, and with it its connections, its endpoints' states and its
// counts. Owner: the process. Thread: the main loop's.
class ClusterKeeper {
 public:
  // `previous` (may be null) was the cluster of the same name, with another configuration: what is
  // known of its endpoints goes on. Errors: Io, source Config, with the name of a TLS file.
  static Result<std::shared_ptr<ClusterKeeper>> create(const config::Cluster& config,
                                                       ClusterSurroundings& surroundings,
                                                       const ClusterKeeper* previous);

  const config::Cluster& config() const { return config_; }
  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  EndpointUpdater& updater() { return *updater_; }
  const EndpointUpdater& updater() const { return *updater_; }

 private:
  explicit ClusterKeeper(config::Cluster config) : config_(std::move(config)) {}

  const config::Cluster config_;
  std::shared_ptr<Cluster> cluster_;
  std::unique_ptr<EndpointUpdater> updater_;
  std::unique_ptr<HealthProber> prober_;
};

using ClusterKeepers = std::vector<std::shared_ptr<ClusterKeeper>>;

// All clusters of the process, and what they share.
// Owner: the process. Thread: the main loop's.
class ClusterBook {
 public:
  // `control` is where requests under the prefix go. Errors: Io.
  static Result<std::unique_ptr<ClusterBook>> create(EventLoop& loop, const config::Dns& dns,
                                                     size_t workers, const Address& control);

  // The clusters of a configuration in its order; those that are unchanged stay. Blocks until the
  // names of new ones are answered, for a few seconds at most. Errors: as ClusterKeeper::create().
  Result<ClusterKeepers> prepare(const std::vector<config::Cluster>& clusters);
  // Puts them in force; the health checks and names of others end.
  void adopt(ClusterKeepers keepers) { keepers_ = std::move(keepers); }
  const ClusterKeepers& keepers() const { return keepers_; }
  // For a snapshot: control is the last.
  std::vector<std::shared_ptr<Cluster>> upstreams(const ClusterKeepers& keepers) const;

 private:
  ClusterBook(EventLoop& loop, std::unique_ptr<Resolver> resolver, const config::Dns& dns,
              size_t workers);

  std::unique_ptr<Resolver> resolver_;
  ObjectPool<Http1Response> responses_;
  Http2Shared http2_;
  ObjectPool<Http2ClientStream> http2_streams_;
  Http2ClientContext http2_context_;
  ClientSessionContext sessions_;
  ClusterSurroundings surroundings_;
  std::shared_ptr<Cluster> control_;
  ClusterKeepers keepers_;
};

}  // namespace flamegate::proxy
