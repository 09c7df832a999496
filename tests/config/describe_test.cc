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
