#include <gtest/gtest.h>

#include "config/load/visitors.h"
#include "tests/config/support.h"

namespace flamegate::config {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Describe, PrintsEffectiveValuesUnderTheKeysOfAFile) {
  const std::string json = describe(loadGood(R"(
listeners: [{address: "127.0.0.1:${PORT}"}]
clusters: [{name: app, endpoints: ["127.0.0.1:3000"]}]
admin: none
)"));
  EXPECT_TRUE(says(json, R"("address": "127.0.0.1:8080")"));
  EXPECT_TRUE(says(json, R"("workers": "auto")"));
  EXPECT_TRUE(says(json, R"("concurrent": 4)"));
  EXPECT_TRUE(says(json, R"("path_segment": false)"));
  EXPECT_TRUE(says(json, R"("secret_file": "/etc/flamegate/flamegate.key")"));
  EXPECT_TRUE(says(json, "\"admin\": {\n    \"address\": \"none\"\n  }"));
  EXPECT_FALSE(says(json, R"("redirect")"));
}

TEST(Describe, MasksEverySecret) {
  Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
clusters: [{name: app, endpoints: ["127.0.0.1:3000"]}]
profiling:
  access: [{user: {name: ops, password_hash: "$2b$12$hidden-hidden-hidden"}, allow: [view]}]
store: {redis: {url: "redis://me:hidden@host:1/2"}}
)");
  config.ingest.tokens = {{"hidden", "shop"}};
  config.collect.emplace_back().secret = "hidden";
  const std::string json = describe(config);
  EXPECT_FALSE(says(json, "hidden")) << json;
  EXPECT_TRUE(says(json, R"("url": "redis://me:***@host:1/2")"));
  EXPECT_TRUE(says(json, R"("password_hash": "***")"));
  EXPECT_TRUE(says(json, R"("token": "***")"));
}

TEST(Describe, PrintsAFileThatLoadsToTheSameConfiguration) {
  const Config config = loadGood(R"y(
listeners:
  - {address: "[::1]:0", trusted_proxies: [10.0.0.0/8, "::1"]}
  - {address: "unix:/run/f.sock", tls: {certificates: [{cert: a.pem, key: b.pem}]}}
clusters:
  - {name: a, endpoints: ["127.0.0.1:1"], balance: round_robin, limits: {retry_budget: 0%}}
routes:
  - hosts: [a.example.com, "*.b.example.com", "[::1]"]
    match: {path: /x, methods: [GET], headers: {A: b, C: {regex: d}}, query: {e: ""}}
    cluster: {endpoints: ["unix:/run/a.sock"], secret_file: c.key}
    response_headers: {set: {A: "", B: "say \"x\""}, remove: [C]}
    retry: {on: []}
  - match: {regex: "/(.*)"}
    cluster: a
    rewrite: {regex: "^/", to: ""}
    timeout: {total: 3s}
    max_body: 0
    profiling: {public_url: "https://c.example.com", access: [], trigger: {query: none}}
  - {match: {prefix: /p}, cluster: a, rewrite: {prefix: /}}
  - redirect: {to: /there, status: 303}
access_log: {path: a.log}
admin: none
profiling:
  access:
    - {from: [10.0.0.0/8, unix], header: {name: A, equals: ""}, token: true, allow: [token, view]}
    - {header: {name: A, regex: b}, allow: [manage]}
store: {kind: redis, path: x.db, redis: {url: "redis://me@[::1]:7/1", key_prefix: ""}}
)y");
  EXPECT_EQ(loadGood(describe(config)), config) << describe(config);
}

TEST(Describe, ReplacesBytesThatAreNoText) {
  Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
routes: [{redirect: {to: /}}]
)");
  config.routes[0].name = "\xff\xfe";
  EXPECT_TRUE(says(describe(config), "\xef\xbf\xbd"));
}

TEST(Describe, LeavesTheConfigurationAsItWas) {
  const Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
routes:
  - {redirect: {to: /}, match: {headers: {a: b, c: {regex: d}}}}
  - {cluster: {endpoints: ["127.0.0.1:1"]}}
)");
  const Config before = config;
  describe(config);
  EXPECT_EQ(config, before);
  Config resolved = config;
  resolvePaths(resolved, "/elsewhere");
  EXPECT_EQ(resolved, before) << "absolute paths stay";
}

}  // namespace
}  // namespace flamegate::config
