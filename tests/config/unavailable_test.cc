#include "config/load/unavailable.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

// What a file adds to make use of each key of the list, and where it is then refused.
struct Use {
  std::string key;
  std::string listener, cluster, top;  // lines of these maps
  std::string refused;
};

std::string fileOf(const Use& use) {
  return "listeners:\n  - address: 127.0.0.1:8080\n" + use.listener +
         "clusters:\n  - name: app\n    endpoints: [127.0.0.1:3000]\n" + use.cluster + use.top;
}

std::string tls(const std::string& rest) {
  return "    tls: {certificates: [{cert: a, key: b}], " + rest + "}\n";
}

std::string ofCluster(const std::string& key_and_value) { return "    " + key_and_value + "\n"; }

const std::vector<Use>& uses() {
  static const std::vector<Use> kUses = {
      {"listeners[].tls.client_ca", tls("client_ca: ca"), "", "", "listeners[0].tls.client_ca"},
      {"listeners[].tls.client_auth", tls("client_ca: ca, client_auth: optional"), "", "",
       "listeners[0].tls.client_auth"},
      {"listeners[].tls.certificates",
       "    tls: {certificates: [{cert: a, key: b}, {cert: c, key: d}]}\n", "", "",
       "listeners[0].tls.certificates"},
      {"listeners[].proxy_protocol", "    proxy_protocol: true\n", "", "",
       "listeners[0].proxy_protocol"},
      {"clusters[].tls", "", ofCluster("tls: {}"), "", "clusters[0].tls"},
      {"clusters[].balance", "", ofCluster("balance: random"), "", "clusters[0].balance"},
      {"clusters[].balance.hash", "", ofCluster("balance: {hash: {header: X-User}}"), "",
       "clusters[0].balance.hash"},
      {"clusters[].health", "", ofCluster("health: {path: /healthz}"), "", "clusters[0].health"},
      {"clusters[].outlier", "", ofCluster("outlier: {}"), "", "clusters[0].outlier"},
      {"clusters[].sidecar", "", ofCluster("sidecar: {socket: unix:/run/a.sock}"), "",
       "clusters[0].sidecar"},
      {"profiling.trigger.path_segment", "", "", "profiling: {trigger: {path_segment: true}}\n",
       "profiling.trigger.path_segment"},
      {"profiling.access[].client_cert", "", "",
       "profiling: {access: [{client_cert: {san: a.example.com}, allow: [view]}]}\n",
       "profiling.access[0].client_cert"},
      {"profiling.slow", "", "", "profiling: {slow: {}}\n", "profiling.slow"},
      {"control.address", "", "", "control: {address: 10.0.0.1:9903}\n", "control.address"},
      {"control.agents.tls", "", "",
       "control: {agents: {tls: {certificates: [{cert: a, key: b}]}}}\n", "control.agents.tls"},
      {"control.agents.tls.alpn[]", "", "",
       "control: {agents: {tls: {certificates: [{cert: a, key: b}], alpn: [h2]}}}\n",
       "control.agents.tls.alpn[0]"},
      {"store.redis.url", "", "", "store: {redis: {url: \"rediss://host\"}}\n", "store.redis.url"},
      {"store.redis.cluster", "", "", "store: {redis: {cluster: true}}\n", "store.redis.cluster"},
      {"store.redis.sentinel.master", "", "", "store: {redis: {sentinel: {master: m}}}\n",
       "store.redis.sentinel.master"},
      {"store.redis.sentinel.addresses", "", "",
       "store: {redis: {sentinel: {addresses: [\"a:1\"]}}}\n", "store.redis.sentinel.addresses"},
      {"store.redis.ca", "", "", "store: {redis: {ca: ca.pem}}\n", "store.redis.ca"},
      {"ingest.tokens", "", "", "ingest: {tokens: [{token: t, project: p}]}\n", "ingest.tokens"},
      {"collect", "", "", "collect: [{name: a, url: \"http://a/\", kind: pprof}]\n", "collect"},
      {"forward", "", "", "forward: [{kind: otlp, url: \"http://a/\"}]\n", "forward"},
  };
  return kUses;
}

TEST(Unavailable, EveryKeyOfTheListIsRefusedByName) {
  std::map<std::string, const Use*> by_key;
  for (const Use& use : uses()) by_key[use.key] = &use;
  for (const Unavailable& entry : unavailableKeys()) {
    const auto use = by_key.find(std::string(entry.path));
    ASSERT_NE(use, by_key.end()) << entry.path << " has no test";
    EXPECT_NE(
        faultsOf(fileOf(*use->second)).find(": " + use->second->refused + ": not available yet\n"),
        std::string::npos)
        << faultsOf(fileOf(*use->second));
  }
}

TEST(Unavailable, EveryKeyThatIsNotOnTheListLoads) {
  std::set<std::string_view> listed;
  for (const Unavailable& entry : unavailableKeys()) listed.insert(entry.path);
  for (const Use& use : uses()) {
    if (listed.count(use.key) > 0) continue;
    EXPECT_EQ(faultsOf(fileOf(use)), "none") << use.key;
  }
}

TEST(Unavailable, KeysMayBeWrittenWithTheirDefaults) {
  const Use use{
      "", "    proxy_protocol: false\n",
      ofCluster("protocol: http/1.1") + ofCluster("balance: round_robin") + ofCluster("tls: "),
      "profiling: {trigger: {path_segment: false}}\ncontrol: {address: auto}\n"
      "store: {redis: {cluster: false}}\ningest: {tokens: []}\ncollect: []\n",
      ""};
  EXPECT_EQ(faultsOf(fileOf(use)), "none");
}

TEST(Unavailable, WhatARouteRepeatsIsRefusedAsWell) {
  const std::string faults = faultsOf(R"(
listeners: [{address: "127.0.0.1:0"}]
routes:
  - cluster: {endpoints: ["127.0.0.1:1"], sidecar: {socket: unix:/run/a.sock}}
    profiling: {trigger: {path_segment: true}}
)");
  EXPECT_EQ(faults,
            "test.yaml:4:52: routes[0].cluster.sidecar: not available yet\n"
            "test.yaml:5:41: routes[0].profiling.trigger.path_segment: not available yet\n");
}

}  // namespace
}  // namespace flamegate::config
