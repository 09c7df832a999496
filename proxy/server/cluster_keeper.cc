#include "proxy/server/cluster_keeper.h"

#include <algorithm>

#include "proxy/server/tls_options.h"

namespace flamegate::proxy {
namespace {

// Until a start or reload goes on without names that have not been answered yet.
constexpr Duration kNamesPatience = std::chrono::seconds(3);
constexpr size_t kControlConnectionsMax = 1024;

BalancePolicy policyOf(config::Balance::Kind kind) {
  switch (kind) {
    case config::Balance::Kind::LeastRequest:
      return BalancePolicy::LeastRequest;
    case config::Balance::Kind::RoundRobin:
      return BalancePolicy::RoundRobin;
    case config::Balance::Kind::Random:
      return BalancePolicy::Random;
    case config::Balance::Kind::HashHeader:
    case config::Balance::Kind::HashCookie:
    case config::Balance::Kind::HashSource:
      return BalancePolicy::Hash;
  }
  return BalancePolicy::LeastRequest;
}

ClientProtocol protocolOf(config::UpstreamProtocol protocol) {
  switch (protocol) {
    case config::UpstreamProtocol::Http11:
      return ClientProtocol::Http1;
    case config::UpstreamProtocol::H2:
      return ClientProtocol::Http2;
    case config::UpstreamProtocol::Auto:
      return ClientProtocol::Negotiated;
  }
  return ClientProtocol::Http1;
}

ClusterOptions optionsOf(const config::Cluster& config, ClientConnector connector) {
  ClusterOptions options{
      .name = config.name,
      .balance = policyOf(config.balance.kind),
      .connector = std::move(connector),
      .slow_start = config.slow_start,
      .connections_max = config.limits.connections,
      .pending_max = config.limits.pending,
      .requests_max = config.limits.requests,
      .retry_budget_percent = config.limits.retry_budget_percent,
      .connect = config.timeout.connect,
      .idle = config.timeout.idle,
  };
  if (config.outlier) {
    options.outlier = ClusterOptions::Outlier{config.outlier->consecutive, config.outlier->eject};
  }
  return options;
}

HealthProber::Options probesOf(const config::Health& health) {
  return {
      .path = health.path,
      .interval = health.interval,
      .timeout = health.timeout,
      .healthy = health.healthy,
      .unhealthy = health.unhealthy,
      .status_first = health.expect.first,
      .status_last = health.expect.last,
  };
}

std::vector<EndpointSource> sourcesOf(const config::Cluster& config) {
  std::vector<EndpointSource> sources;
  for (const config::Endpoint& endpoint : config.endpoints) {
    EndpointSource source;
    source.target.weight = endpoint.weight;
    source.target.server = endpoint.address.host;
    source.port = endpoint.address.port;
    if (auto literal = Address::parse(config::formatAddress(endpoint.address))) {
      source.target.address = *literal;
    } else {
      source.name = endpoint.address.host;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace

Result<std::shared_ptr<ClusterKeeper>> ClusterKeeper::create(const config::Cluster& config,
                                                             ClusterSurroundings& surroundings,
                                                             const ClusterKeeper* previous) {
  auto tls = makeTlsConnector(config);
  if (!tls) return fail(std::move(tls.error()));
  ClientConnector connector{.protocol = protocolOf(config.protocol),
                            .tls = std::move(*tls),
                            .server = config.tls ? config.tls->sni.value_or("") : ""};
  std::shared_ptr<ClusterKeeper> keeper(new ClusterKeeper(config));
  keeper->cluster_ =
      std::make_shared<Cluster>(optionsOf(config, std::move(connector)), surroundings.workers);
  if (previous != nullptr) keeper->cluster_->inherit(*previous->cluster_);
  keeper->updater_ = std::make_unique<EndpointUpdater>(
      surroundings.sessions.loop, surroundings.resolver, *keeper->cluster_, sourcesOf(config),
      surroundings.dns, previous != nullptr ? previous->updater_.get() : nullptr);
  if (config.health) {
    keeper->prober_ = std::make_unique<HealthProber>(surroundings.sessions, *keeper->cluster_,
                                                     probesOf(*config.health));
    keeper->updater_->onChange([prober = keeper->prober_.get()] { prober->refresh(); });
  } else {
    // Nobody would ever find out that an inherited endpoint is well again.
    for (const auto& endpoint : keeper->cluster_->endpoints()->endpoints) {
      endpoint->setHealthy(true, monotonicNow());
    }
  }
  return keeper;
}

// ---- All of them --------------------------------------------------------------------------------

ClusterBook::ClusterBook(EventLoop& loop, std::unique_ptr<Resolver> resolver,
                         const config::Dns& dns, size_t workers)
    : resolver_(std::move(resolver)),
      http2_context_{loop, http2_, http2_streams_, {.fields_max = kFieldsMax}},
      sessions_{.loop = loop,
                .responses = responses_,
                .limits = {.fields_max = kFieldsMax},
                .http2 = &http2_context_},
      surroundings_{.sessions = sessions_,
                    .resolver = *resolver_,
                    .workers = workers,
                    .dns = {.ttl_min = dns.ttl_min, .ttl_max = dns.ttl_max}} {}

Result<std::unique_ptr<ClusterBook>> ClusterBook::create(EventLoop& loop, const config::Dns& dns,
                                                         size_t workers, const Address& control) {
  Resolver::Options options{.servers = {}, .timeout = dns.timeout};
  for (const config::Address& server : dns.servers) {
    auto address = Address::parse(config::formatAddress(server));
    if (!address) return fail(std::move(address.error()));
    options.servers.push_back(*address);
  }
  auto resolver = Resolver::create(std::move(options));
  if (!resolver) return fail(std::move(resolver.error()));
  std::unique_ptr<ClusterBook> book(new ClusterBook(loop, std::move(*resolver), dns, workers));
  book->control_ = std::make_shared<Cluster>(
      ClusterOptions{.name = "control", .connections_max = kControlConnectionsMax}, workers);
  book->control_->publish({{.address = control, .server = "control"}});
  return book;
}

Result<ClusterKeepers> ClusterBook::prepare(const std::vector<config::Cluster>& clusters) {
  ClusterKeepers keepers;
  for (const config::Cluster& config : clusters) {
    const auto old = std::find_if(keepers_.begin(), keepers_.end(), [&](const auto& keeper) {
      return keeper->config().name == config.name;
    });
    const ClusterKeeper* previous = old != keepers_.end() ? old->get() : nullptr;
    if (previous != nullptr && previous->config() == config) {
      keepers.push_back(*old);
      continue;
    }
    auto made = ClusterKeeper::create(config, surroundings_, previous);
    if (!made) return fail(std::move(made.error()));
    keepers.push_back(std::move(*made));
  }
  const TimePoint deadline = monotonicNow() + kNamesPatience;
  for (const auto& keeper : keepers) keeper->updater().awaitAnswers(deadline);
  return keepers;
}

std::vector<std::shared_ptr<Cluster>> ClusterBook::upstreams(const ClusterKeepers& keepers) const {
  std::vector<std::shared_ptr<Cluster>> out;
  for (const auto& keeper : keepers) out.push_back(keeper->cluster());
  out.push_back(control_);
  return out;
}

}  // namespace flamegate::proxy
