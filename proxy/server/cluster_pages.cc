#include "proxy/server/cluster_pages.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace flamegate::proxy {
namespace {

using Json = nlohmann::ordered_json;

// Series of endpoints a cluster; names whose addresses change would else make ever more.
constexpr size_t kEndpointSeriesMax = 100;

std::string_view stateOf(const Endpoint& endpoint, TimePoint now) {
  if (!endpoint.healthy()) return "unhealthy";
  return endpoint.ejected(now) ? "ejected" : "healthy";
}

int64_t millisUntil(TimePoint at, TimePoint now) {
  return std::max<int64_t>(0, (at - now).count() / 1'000'000);
}

Json describeEndpoint(const Endpoint& endpoint, TimePoint now) {
  Json out{{"address", endpoint.name()},
           {"server", endpoint.server()},
           {"state", stateOf(endpoint, now)},
           {"weight", endpoint.weight()},
           {"active", endpoint.total(&EndpointCounters::active)},
           {"connections", endpoint.total(&EndpointCounters::connections)},
           {"requests", endpoint.total(&EndpointCounters::requests)},
           {"failures", endpoint.total(&EndpointCounters::failures)},
           {"ejections", endpoint.ejections()}};
  const Endpoint::Check check = endpoint.lastCheck();
  if (!check.outcome.empty()) {
    out["last_check"] = {{"at_ms", check.at_ms}, {"outcome", check.outcome}};
  }
  return out;
}

Json describeNames(const EndpointUpdater& updater, TimePoint now) {
  Json out = Json::array();
  for (const EndpointUpdater::Name& name : updater.names()) {
    Json addresses = Json::array();
    for (const Address& address : name.addresses) addresses.push_back(address.host());
    Json each{{"name", name.name}, {"addresses", std::move(addresses)}};
    if (name.asked_again.set()) each["asked_again_in_ms"] = millisUntil(name.asked_again, now);
    if (!name.failure.empty()) each["failure"] = name.failure;
    out.push_back(std::move(each));
  }
  return out;
}

Json describeCluster(const ClusterKeeper& keeper, TimePoint now) {
  const Cluster& cluster = *keeper.cluster();
  Json endpoints = Json::array();
  for (const auto& endpoint : cluster.endpoints()->endpoints) {
    endpoints.push_back(describeEndpoint(*endpoint, now));
  }
  return {{"name", keeper.config().name},
          {"active", cluster.total(&ClusterCounters::active)},
          {"pending", cluster.pending()},
          {"connections", cluster.connections()},
          {"requests", cluster.total(&ClusterCounters::requests)},
          {"overflows", cluster.total(&ClusterCounters::overflows)},
          {"retries", cluster.total(&ClusterCounters::retries)},
          {"retries_refused", cluster.total(&ClusterCounters::retries_refused)},
          {"ejections_prevented", cluster.ejectionsPrevented()},
          {"names", describeNames(keeper.updater(), now)},
          {"endpoints", std::move(endpoints)}};
}

// As Prometheus wants a label's value.
std::string label(std::string_view name, std::string_view value) {
  std::string out(name);
  out += "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

template <typename Value>
void appendByCluster(const ClusterKeepers& clusters, MetricsText& out, Value value) {
  for (const auto& keeper : clusters) {
    out.sample(value(*keeper->cluster()), label("cluster", keeper->config().name));
  }
}

template <typename Value>
void appendByEndpoint(const ClusterKeepers& clusters, MetricsText& out, Value value) {
  for (const auto& keeper : clusters) {
    const auto set = keeper->cluster()->endpoints();
    for (size_t i = 0; i < std::min(set->endpoints.size(), kEndpointSeriesMax); ++i) {
      const Endpoint& endpoint = *set->endpoints[i];
      out.sample(value(endpoint), label("cluster", keeper->config().name) + "," +
                                      label("endpoint", endpoint.name()));
    }
  }
}

}  // namespace

std::string clustersText(const ClusterKeepers& clusters) {
  const TimePoint now = monotonicNow();
  std::string text;
  for (const auto& keeper : clusters) {
    const Cluster& cluster = *keeper->cluster();
    text += keeper->config().name + ": " + std::to_string(cluster.total(&ClusterCounters::active)) +
            " active, " + std::to_string(cluster.pending()) + " pending, " +
            std::to_string(cluster.connections()) + " connections\n";
    for (const auto& name : keeper->updater().names()) {
      text += "  " + name.name + ": " + std::to_string(name.addresses.size()) + " addresses";
      if (name.asked_again.set()) {
        text += ", asked again in " + std::to_string(millisUntil(name.asked_again, now)) + " ms";
      }
      if (!name.failure.empty()) text += ", last answer: " + name.failure;
      text += "\n";
    }
    for (const auto& endpoint : cluster.endpoints()->endpoints) {
      text.append("  ").append(endpoint->name()).append(" ").append(stateOf(*endpoint, now));
      text += " weight=" + std::to_string(endpoint->weight()) +
              " active=" + std::to_string(endpoint->total(&EndpointCounters::active)) +
              " requests=" + std::to_string(endpoint->total(&EndpointCounters::requests)) +
              " failures=" + std::to_string(endpoint->total(&EndpointCounters::failures)) +
              " ejections=" + std::to_string(endpoint->ejections());
      const Endpoint::Check check = endpoint->lastCheck();
      if (!check.outcome.empty()) text += " last_check=" + check.outcome;
      text += "\n";
    }
  }
  return text;
}

std::string clustersJson(const ClusterKeepers& clusters) {
  const TimePoint now = monotonicNow();
  Json list = Json::array();
  for (const auto& keeper : clusters) list.push_back(describeCluster(*keeper, now));
  return Json{{"clusters", std::move(list)}}.dump(2) + "\n";
}

void appendClusterMetrics(const ClusterKeepers& clusters, MetricsText& out) {
  struct ClusterFamily {
    Counter ClusterCounters::*member;
    std::string_view name, type, help;
  };
  constexpr ClusterFamily kClusterFamilies[] = {
      {&ClusterCounters::active, "flamegate_cluster_requests_active", "gauge",
       "Requests in flight, with those that wait for a connection."},
      {&ClusterCounters::requests, "flamegate_cluster_requests_total", "counter",
       "Requests that were let through to the cluster."},
      {&ClusterCounters::overflows, "flamegate_cluster_overflows_total", "counter",
       "Requests that a limit of the cluster refused."},
      {&ClusterCounters::retries, "flamegate_cluster_retries_total", "counter",
       "Requests that were tried again."},
      {&ClusterCounters::retries_refused, "flamegate_cluster_retries_refused_total", "counter",
       "Retries that the budget did not allow."},
  };
  for (const ClusterFamily& family : kClusterFamilies) {
    out.family(family.name, family.type, family.help);
    appendByCluster(clusters, out,
                    [&](const Cluster& cluster) { return cluster.total(family.member); });
  }
  out.family("flamegate_cluster_requests_pending", "gauge", "Requests that wait for a connection.");
  appendByCluster(clusters, out, [](const Cluster& cluster) { return cluster.pending(); });

  struct EndpointFamily {
    Counter EndpointCounters::*member;
    std::string_view name, type, help;
  };
  constexpr EndpointFamily kEndpointFamilies[] = {
      {&EndpointCounters::active, "flamegate_endpoint_requests_active", "gauge",
       "Requests in flight at the endpoint."},
      {&EndpointCounters::connections, "flamegate_endpoint_connections", "gauge",
       "Connections to the endpoint, idle ones too."},
      {&EndpointCounters::requests, "flamegate_endpoint_requests_total", "counter",
       "Attempts that were made at the endpoint."},
      {&EndpointCounters::failures, "flamegate_endpoint_failures_total", "counter",
       "Attempts that failed by connection, time-out or gateway error."},
  };
  for (const EndpointFamily& family : kEndpointFamilies) {
    out.family(family.name, family.type, family.help);
    appendByEndpoint(clusters, out,
                     [&](const Endpoint& endpoint) { return endpoint.total(family.member); });
  }
  const TimePoint now = monotonicNow();
  out.family("flamegate_endpoint_usable", "gauge",
             "Whether the endpoint is healthy by its checks and not ejected.");
  appendByEndpoint(clusters, out,
                   [&](const Endpoint& endpoint) { return endpoint.usable(now) ? 1U : 0U; });
  out.family("flamegate_endpoint_ejections_total", "counter",
             "How often traffic showed the endpoint to be failing.");
  appendByEndpoint(clusters, out, [](const Endpoint& endpoint) { return endpoint.ejections(); });
}

}  // namespace flamegate::proxy
