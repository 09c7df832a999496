#include "config/load/load.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMinimal = R"(
listeners:
  - address: 127.0.0.1:8080
clusters:
  - name: app
    endpoints: [127.0.0.1:3000]
)";

TEST(Load, FillsInDefaultsAroundTheSmallestFile) {
  const Config config = loadGood(std::string(kMinimal));
  ASSERT_EQ(config.listeners.size(), 1U);
  EXPECT_EQ(config.listeners[0].address, Address::tcp("127.0.0.1", 8080));
  ASSERT_EQ(config.clusters.size(), 1U);
  EXPECT_EQ(config.clusters[0].service, "app");
  EXPECT_EQ(config.limits, Limits());
  EXPECT_EQ(config.admin, Admin());
  EXPECT_EQ(config.profiling.policy, ProfilingPolicy());
  EXPECT_EQ(config.store.path, "/etc/flamegate/flamegate.db");
  EXPECT_EQ(config.profiling.secret_file, "/etc/flamegate/flamegate.key");
}

TEST(Load, SendsEverythingToTheFirstClusterWithoutRoutes) {
  const Config config = loadGood(std::string(kMinimal));
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_TRUE(config.routes[0].hosts.empty());
  EXPECT_EQ(config.routes[0].match, RouteMatch());
  EXPECT_EQ(config.routes[0].cluster, "app");
  EXPECT_EQ(config.routes[0].cluster_index, 0U);
}

TEST(Load, ReadsARouteInFull) {
  const Config config = loadGood(std::string(kMinimal) + R"y(
  - name: other
    endpoints: ["[::1]:4000", unix:/run/app.sock]
routes:
  - hosts: [Shop.Example.COM, "*.example.org"]
    match:
      regex: "/u/([0-9]+)"
      methods: [GET, POST]
      headers: {X-Api: "2", X-Kind: {regex: "a|b"}}
      query: {debug: "1"}
    cluster: other
    name: "GET /u/:id"
    rewrite: {regex: "^/u/([0-9]+)$", to: "/users/\\1"}
    request_headers: {set: {X-A: a}, add: {X-B: b}, remove: [X-C]}
    timeout: {response: 5s, total: 1m, idle: 7s}
    retry: {attempts: 2, on: [connect], unsafe: true}
    max_body: 1MiB
)y");
  const Route& route = config.routes.at(0);
  EXPECT_EQ(route.hosts,
            (std::vector<HostPattern>{{"shop.example.com", false}, {"example.org", true}}));
  EXPECT_EQ(route.match.path, (PathMatch{PathMatch::Kind::Regex, "/u/([0-9]+)"}));
  EXPECT_EQ(route.match.methods, (std::vector<std::string>{"GET", "POST"}));
  EXPECT_EQ(route.match.headers,
            (std::vector<ValueMatch>{{"X-Api", false, "2"}, {"X-Kind", true, "a|b"}}));
  EXPECT_EQ(route.match.query, (std::vector<ValueMatch>{{"debug", false, "1"}}));
  EXPECT_EQ(route.cluster_index, 1U);
  EXPECT_EQ(route.name, "GET /u/:id");
  EXPECT_EQ(route.rewrite, (Rewrite{Rewrite::Kind::Regex, "^/u/([0-9]+)$", "/users/\\1"}));
  EXPECT_EQ(route.request_headers, (HeaderEdits{{{"X-A", "a"}}, {{"X-B", "b"}}, {"X-C"}}));
  EXPECT_TRUE(route.response_headers.empty());
  EXPECT_EQ(route.timeout, (RouteTimeout{5s, 1min, 7s}));
  EXPECT_EQ(route.retry, (Retry{2, RetryOn{true, false, false}, true}));
  EXPECT_EQ(route.body_bytes_max, kMiB);
  EXPECT_EQ(
      config.clusters[1].endpoints,
      (std::vector<Endpoint>{{Address::tcp("::1", 4000)}, {Address::unixSocket("/run/app.sock")}}));
}

TEST(Load, ReadsAClusterThatARouteHolds) {
  const Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
routes:
  - match: {prefix: /a}
    cluster: {endpoints: ["127.0.0.1:3000"]}
  - cluster: {name: rest, endpoints: ["127.0.0.1:3001"], service: shop}
)");
  ASSERT_EQ(config.clusters.size(), 2U);
  EXPECT_EQ(config.routes[0].cluster, "cluster-1");
  EXPECT_EQ(config.routes[0].cluster_index, 0U);
  EXPECT_EQ(config.clusters[0].service, "cluster-1");
  EXPECT_EQ(config.routes[1].cluster, "rest");
  EXPECT_EQ(config.routes[1].cluster_index, 1U);
  EXPECT_EQ(config.clusters[1].service, "shop");
}

TEST(Load, NeedsNoClusterWhereEveryRouteRedirects) {
  const Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
routes: [{redirect: {to: "https://example.org/"}}]
)");
  EXPECT_TRUE(config.clusters.empty());
  EXPECT_EQ(config.routes[0].redirect, (Redirect{"https://example.org/", 308}));
}

TEST(Load, MergesTheProfilingOfARouteWithTheGlobalOne) {
  // The section comes after the routes that it is merged into.
  const Config config = loadGood(std::string(kMinimal) + R"(
routes:
  - cluster: app
    match: {prefix: /a}
    profiling: {limits: {concurrent: 1}, trigger: {query: none}, access: []}
  - cluster: app
profiling:
  limits: {concurrent: 9, per_minute: 8}
  trigger: {referer: false}
  keep_query: true
)");
  const ProfilingPolicy& merged = config.routes[0].profiling;
  EXPECT_EQ(merged.limits, (ProfileLimits{1, 8, 2}));
  EXPECT_EQ(merged.trigger.query, std::nullopt);
  EXPECT_FALSE(merged.trigger.referer);
  EXPECT_TRUE(merged.keep_query);
  EXPECT_TRUE(merged.access.empty());
  EXPECT_EQ(config.routes[1].profiling, config.profiling.policy);
  EXPECT_EQ(config.profiling.policy.access, defaultAccess());
}

TEST(Load, KeepsTheConditionsOfAnAccessRuleCheapestFirst) {
  const Config config = loadGood(std::string(kMinimal) + R"(
profiling:
  access:
    - user: {name: ops, password_hash: "$2b$12$abcdefghijklmnopqrstuv"}
      from: [127.0.0.1, unix]
      token: true
      header: {name: X-Groups, regex: "a.*"}
      allow: [view, token]
)");
  const AccessRule& rule = config.profiling.policy.access.at(0);
  EXPECT_EQ(rule.allow, (Rights{.view = true, .of_token = true}));
  EXPECT_EQ(rule.conditions,
            (std::vector<AccessCondition>{
                FromNetworks{{*parseCidr("127.0.0.1")}, true},
                TrustedHeader{"X-Groups", TrustedHeader::Test::Regex, "a.*"}, SignedToken{},
                BasicUser{"ops", "$2b$12$abcdefghijklmnopqrstuv"}}));
}

TEST(Load, SwitchesAdminOffInBothWaysOfSayingSo) {
  EXPECT_EQ(loadGood(std::string(kMinimal) + "admin: none\n").admin.address, std::nullopt);
  EXPECT_EQ(loadGood(std::string(kMinimal) + "admin: {address: none}\n").admin.address,
            std::nullopt);
}

TEST(Load, ReadsTheTargetOfTheAccessLog) {
  const auto log = [](const std::string& path) {
    return loadGood(std::string(kMinimal) + "access_log: {path: " + path + "}\n").access_log;
  };
  EXPECT_EQ(log("stderr").target, AccessLog::Target::Stderr);
  EXPECT_EQ(log("none").target, AccessLog::Target::None);
  EXPECT_EQ(log("logs/a.log").target, AccessLog::Target::File);
  EXPECT_EQ(log("logs/a.log").path, "/etc/flamegate/logs/a.log");
  EXPECT_EQ(log("/var/log/a.log").path, "/var/log/a.log");
}

TEST(Load, ReadsTheUrlOfRedis) {
  const auto redis = [](const std::string& url) {
    return loadGood(std::string(kMinimal) + "store: {kind: redis, redis: {url: \"" + url + "\"}}\n")
        .store.redis;
  };
  EXPECT_EQ(redis("redis://host").address, Address::tcp("host", 6379));
  EXPECT_EQ(redis("redis://[::1]").address, Address::tcp("::1", 6379));
  const Redis full = redis("redis://me:p%40ss@10.0.0.1:7000/3");
  EXPECT_EQ(full.user, "me");
  EXPECT_EQ(full.password, "p@ss");
  EXPECT_EQ(full.address, Address::tcp("10.0.0.1", 7000));
  EXPECT_EQ(full.database, 3U);
  EXPECT_EQ(redis("redis://:secret@host").password, "secret");
}

TEST(Load, TakesAnEmptyValueForAbsent) {
  const Config config = loadGood(std::string(kMinimal) + R"(
workers:
limits:
store: {redis: {sentinel: {master: , addresses: []}, ca: , timeout: 1s}}
control: {agents: {tls: }}
)");
  EXPECT_EQ(config.workers, 0U);
  EXPECT_EQ(config.limits, Limits());
  EXPECT_EQ(config.store.redis.timeout, 1s);
}

TEST(Load, RepeatsWhatAnAliasNames) {
  const Config config = loadGood(R"(
listeners: [{address: "127.0.0.1:0"}]
clusters:
  - {name: a, endpoints: ["127.0.0.1:1"], timeout: &quick {connect: 1s}}
  - {name: b, endpoints: ["127.0.0.1:2"], timeout: *quick}
)");
  EXPECT_EQ(config.clusters[1].timeout.connect, 1s);
}

// ---- Files
// ----------------------------------------------------------------------------------------

class LoadFile : public testing::Test {
 protected:
  LoadFile() { std::filesystem::create_directories(directory_); }
  ~LoadFile() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text, int mode = 0600) const {
    const auto path = directory_ / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
  }
  Loading load(const std::string& text) const {
    write("flamegate.yaml", text);
    return loadFile((directory_ / "flamegate.yaml").string());
  }
  std::string at(const std::string& name) const { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      ("config-" + std::to_string(::getpid()) +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(LoadFile, TakesPathsRelativeToTheFile) {
  const Loading loading = load(std::string(kMinimal) + "store: {path: ./sub/../my.db}\n");
  ASSERT_TRUE(loading) << toText(loading.error().front());
  EXPECT_EQ(loading->config.store.path, at("my.db"));
  EXPECT_TRUE(loading->warnings.empty());
}

TEST_F(LoadFile, SaysThatAFileIsMissing) {
  const Loading loading = loadFile(at("absent.yaml"));
  ASSERT_FALSE(loading);
  EXPECT_EQ(toText(loading.error().at(0)),
            at("absent.yaml") + ": cannot be opened: No such file or directory");
}

TEST_F(LoadFile, RefusesADirectoryAndALargeFile) {
  EXPECT_FALSE(loadFile(at("")));
  const Loading large = load(std::string(kMinimal) + "#" + std::string(size_t{1} << 20, '#'));
  ASSERT_FALSE(large);
  EXPECT_NE(toText(large.error().at(0)).find("larger than 1MiB"), std::string::npos);
}

TEST_F(LoadFile, NamesCertificatesThatCannotBeRead) {
  const Loading loading = load(R"(
listeners:
  - address: 127.0.0.1:8080
    tls: {certificates: [{cert: no.pem, key: no.key}]}
clusters: [{name: app, endpoints: ["127.0.0.1:3000"]}]
)");
  ASSERT_FALSE(loading);
  ASSERT_EQ(loading.error().size(), 2U);
  EXPECT_EQ(loading.error()[0].path, "listeners[0].tls.certificates[0].cert");
  EXPECT_EQ(loading.error()[0].message,
            "cannot read \"" + at("no.pem") + "\": No such file or directory");
}

TEST_F(LoadFile, SaysWhatTheJudgeOfCertificatesFinds) {
  for (const char* name : {"a.pem", "a.key", "a.ocsp", "ca.pem"}) write(name, "");
  write("flamegate.yaml", R"(
listeners:
  - address: 127.0.0.1:8080
    tls:
      certificates: [{cert: a.pem, key: a.key, ocsp: a.ocsp}]
      client_ca: ca.pem
clusters: [{name: app, endpoints: ["127.0.0.1:3000"]}]
)");
  LoadOptions options;
  options.judge.certificate = [this](const ServerCertificate& files) {
    EXPECT_EQ(files.cert, at("a.pem"));
    return std::vector<CertificateIssue>{{"key", "is odd", true}, {"ocsp", "is old", false}};
  };
  options.judge.authorities = [](const std::string& file) { return file + " is empty"; };
  const Loading loading = loadFile(at("flamegate.yaml"), options);
  ASSERT_FALSE(loading);
  EXPECT_EQ(linesOf(loading.error()),
            at("flamegate.yaml") + ":5:41: listeners[0].tls.certificates[0].key: \"" + at("a.key") +
                "\" is odd\n" + at("flamegate.yaml") + ":6:18: listeners[0].tls.client_ca: " +
                at("ca.pem") + " is empty\n");
  options.judge.certificate = [](const ServerCertificate&) {
    return std::vector<CertificateIssue>{{"ocsp", "is old", false}};
  };
  options.judge.authorities = nullptr;
  const Loading warned = loadFile(at("flamegate.yaml"), options);
  ASSERT_TRUE(warned) << linesOf(warned.error());
  ASSERT_EQ(warned->warnings.size(), 1U);
  EXPECT_EQ(warned->warnings[0].path, "listeners[0].tls.certificates[0].ocsp");
}

TEST_F(LoadFile, WarnsOfSecretsThatEverybodyMayRead) {
  write("flamegate.key", std::string(64, 'a') + "\n", 0644);
  const Loading loading = load(std::string(kMinimal));
  ASSERT_TRUE(loading) << toText(loading.error().front());
  ASSERT_EQ(loading->warnings.size(), 1U);
  EXPECT_EQ(loading->warnings[0].path, "profiling.secret_file");
}

TEST_F(LoadFile, RefusesSecretsThatAreTooShort) {
  write("flamegate.key", std::string(31, 'a') + "\r\n");
  write("flamegate-session.key", std::string(32, 'a') + "\r\n");
  const Loading loading = load(std::string(kMinimal));
  ASSERT_FALSE(loading);
  ASSERT_EQ(loading.error().size(), 1U);
  EXPECT_EQ(loading.error()[0].path, "profiling.secret_file");
  EXPECT_NE(loading.error()[0].message.find("at least 32 bytes"), std::string::npos);
}

TEST_F(LoadFile, WantsPreviousSecretsToBeThere) {
  const Loading loading =
      load(std::string(kMinimal) + "profiling: {previous_secret_file: old.key}\n");
  ASSERT_FALSE(loading);
  EXPECT_EQ(loading.error().at(0).path, "profiling.previous_secret_file");
}

TEST_F(LoadFile, WantsTheDirectoryOfTheStoreToBeThere) {
  const Loading loading = load(std::string(kMinimal) + "store: {path: none/flamegate.db}\n");
  ASSERT_FALSE(loading);
  EXPECT_EQ(loading.error().at(0).path, "store.path");
}

}  // namespace
}  // namespace flamegate::config
