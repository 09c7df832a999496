#include "proxy/server/snapshot_builder.h"

#include <algorithm>

#include <netdb.h>

#include "proxy/server/tls_options.h"

namespace flamegate::proxy {

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

Result<std::shared_ptr<const Snapshot>> buildSnapshot(
    config::Config config, std::vector<std::shared_ptr<Cluster>> upstreams,
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
  snapshot->upstreams = std::move(upstreams);
  snapshot->config = std::move(config);
  for (const config::Listener& listener : snapshot->config.listeners) {
    snapshot->listener_ids.push_back(Snapshot::listenerId(listener));
  }
  snapshot->traffic_labels = std::make_shared<const TrafficLabels>(snapshot->config);
  // The setup refers to the configuration where it finally lies.
  auto profiling = ProfilingSetup::create(snapshot->config);
  if (!profiling) return fail(std::move(profiling.error()));
  snapshot->profiling = std::move(*profiling);
  return snapshot;
}

}  // namespace flamegate::proxy
