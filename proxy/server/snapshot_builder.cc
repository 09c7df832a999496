#include "proxy/server/snapshot_builder.h"

#include <algorithm>

#include <netdb.h>

#include "proxy/base/log.h"
#include "proxy/server/tls_options.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kControlConnectionsMax = 256;

UpstreamOptions upstreamOf(const config::Cluster& cluster, size_t workers) {
  UpstreamOptions options;
  for (const config::Address& endpoint : cluster.endpoints) {
    auto addresses = resolve(endpoint);
    if (!addresses) {
      logWarning("cluster " + cluster.name, addresses.error().detail);
      continue;
    }
    options.endpoints.insert(options.endpoints.end(), addresses->begin(), addresses->end());
  }
  if (cluster.balance.kind == config::Balance::Kind::RoundRobin) {
    options.balance = UpstreamOptions::Balance::RoundRobin;
  }
  const auto share = [&](size_t whole) { return std::max<size_t>(1, whole / workers); };
  options.connections_max = share(cluster.limits.connections);
  options.pending_max = share(cluster.limits.pending);
  options.idle = cluster.timeout.idle;
  return options;
}

}  // namespace

Result<std::vector<Address>> resolve(const config::Address& address) {
  const std::string text = config::formatAddress(address);
  if (auto literal = Address::parse(text)) return std::vector<Address>{*literal};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::Unavailable, ErrorSource::Config, text + ": " + gai_strerror(error));
  }
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses.push_back(Address::fromSockaddr(each->ai_addr, each->ai_addrlen));
  }
  freeaddrinfo(found);
  return addresses;
}

Result<std::shared_ptr<const Snapshot>> buildSnapshot(config::Config config, size_t workers,
                                                      const Address& control,
                                                      std::shared_ptr<TlsTicketKeys> tickets) {
  auto snapshot = std::make_shared<Snapshot>();
  auto router = Router::create(config.routes);
  if (!router) return fail(std::move(router.error()));
  snapshot->router = std::move(*router);
  for (const config::Listener& listener : config.listeners) {
    auto tls = makeTlsListener(listener, tickets);
    if (!tls) return fail(std::move(tls.error()));
    snapshot->tls.push_back(std::move(*tls));
  }
  for (const config::Cluster& cluster : config.clusters) {
    snapshot->upstreams.push_back(upstreamOf(cluster, workers));
  }
  UpstreamOptions to_control;
  to_control.endpoints = {control};
  to_control.connections_max = kControlConnectionsMax;
  snapshot->upstreams.push_back(std::move(to_control));
  snapshot->config = std::move(config);
  snapshot->traffic_labels = std::make_shared<const TrafficLabels>(snapshot->config);
  // The setup refers to the configuration where it finally lies.
  auto profiling = ProfilingSetup::create(snapshot->config);
  if (!profiling) return fail(std::move(profiling.error()));
  snapshot->profiling = std::move(*profiling);
  return snapshot;
}

}  // namespace flamegate::proxy
