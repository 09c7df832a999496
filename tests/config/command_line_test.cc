#include <filesystem>

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

Loading fromWords(const CommandLine& line) {
  LoadOptions options;
  options.check_files = false;
  return fromCommandLine(line, options);
}

std::string faultOf(const CommandLine& line) {
  const Loading loading = fromWords(line);
  return loading ? "none" : linesOf(loading.error());
}

TEST(CommandLine, HasDefaultsForEverything) {
  const Loading loading = fromWords({});
  ASSERT_TRUE(loading) << linesOf(loading.error());
  const Config& config = loading->config;
  EXPECT_EQ(config.listeners.at(0).address, Address::tcp("127.0.0.1", 8080));
  EXPECT_EQ(config.clusters.at(0).endpoints, (std::vector<Endpoint>{{Address::tcp("127.0.0.1", 3000)}}));
  EXPECT_EQ(config.routes.at(0).cluster, "app");
  EXPECT_EQ(config.store.kind, Store::Kind::Embedded);
  EXPECT_EQ(config.store.path, (std::filesystem::current_path() / "flamegate.db").string());
}

TEST(CommandLine, TakesAnAddressAUrlAndAStore) {
  const Loading loading =
      fromWords({"[::1]:0", "http://app.internal/", "redis://:secret@10.0.0.1/2"});
  ASSERT_TRUE(loading) << linesOf(loading.error());
  EXPECT_EQ(loading->config.listeners.at(0).address, Address::tcp("::1", 0));
  EXPECT_EQ(loading->config.clusters.at(0).endpoints,
            (std::vector<Endpoint>{{Address::tcp("app.internal", 80)}}));
  EXPECT_EQ(loading->config.store.kind, Store::Kind::Redis);
  EXPECT_EQ(loading->config.store.redis.password, "secret");
  EXPECT_EQ(loading->config.store.redis.database, 2U);
}

TEST(CommandLine, TakesUnixSockets) {
  const Loading loading = fromWords({"unix:/run/f.sock", "unix:/run/app.sock", "/var/lib/f.db"});
  ASSERT_TRUE(loading) << linesOf(loading.error());
  EXPECT_EQ(loading->config.listeners.at(0).address, Address::unixSocket("/run/f.sock"));
  EXPECT_EQ(loading->config.clusters.at(0).endpoints,
            (std::vector<Endpoint>{{Address::unixSocket("/run/app.sock")}}));
  EXPECT_EQ(loading->config.store.path, "/var/lib/f.db");
}

TEST(CommandLine, SaysWhatIsWrongWithoutAPosition) {
  EXPECT_EQ(faultOf({"8080", "", ""}),
            "command line: listeners[0].address: must be host:port, [v6]:port or unix:/path, not "
            "\"8080\"\n");
  EXPECT_EQ(faultOf({"", "http://host/path", ""}),
            "command line: --upstream: must be http://host:port or unix:/path, not "
            "\"http://host/path\"\n");
  for (const char* upstream : {"host:80", "ftp://host", "http://", "http://host:0", "http://a b"}) {
    EXPECT_NE(faultOf({"", upstream, ""}), "none") << upstream;
  }
}

TEST(CommandLine, SpeaksTlsToAnHttpsUpstream) {
  EXPECT_EQ(faultOf({"", "https://host", ""}), "none");
}

TEST(CommandLine, PutsNoVariablesIntoItsWords) {
  const Loading loading = fromWords({"", "", "/srv/${HOME}.db"});
  ASSERT_TRUE(loading) << linesOf(loading.error());
  EXPECT_EQ(loading->config.store.path, "/srv/${HOME}.db");
}

}  // namespace
}  // namespace flamegate::config
