// The store on real Redis servers: full memory, expiry, a shared server, restarts and logins.
#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/control/store/store_support.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kPatience{30};

class RedisStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::available()) GTEST_SKIP() << "no redis-server";
  }

  static WaitingStore openStore(const config::Store& config) {
    auto store = createStore(config, manualTuning());
    EXPECT_TRUE(store);
    return WaitingStore(std::move(*store));
  }

  // How many keys have no TTL.
  static std::string keysForEver(const RedisServer& server) {
    return server.command({"EVAL",
                           "local n = 0 for _, key in ipairs(redis.call('KEYS', 'fg:*')) do "
                           "if redis.call('PTTL', key) < 0 then n = n + 1 end end return n",
                           "0"});
  }

  template <typename Condition>
  static bool eventually(Condition condition) {
    const auto end = steady_clock::now() + kPatience;
    while (steady_clock::now() < end) {
      if (condition()) return true;
    }
    return false;
  }
};

TEST_F(RedisStore, LaysProfilesOutForOtherPrograms) {
  RedisServer server;
  WaitingStore store = openStore(server.config());
  ASSERT_TRUE(store.put(testRecord(1), "plain bytes"));
  EXPECT_EQ(server.command({"--raw", "GET", "fg:{" + testId(1) + "}:pprof"}), "plain bytes");
  auto record = recordFromJson(server.command({"--raw", "GET", "fg:{" + testId(1) + "}:meta"}));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->route, "GET /shop/items/:id");
  EXPECT_EQ(keysForEver(server), "0");
  for (const std::string& key : server.keys()) EXPECT_TRUE(key.starts_with("fg:")) << key;
}

TEST_F(RedisStore, DropsWhatAFullServerRefuses) {
  RedisServer server({"--maxmemory", "20mb", "--maxmemory-policy", "noeviction"});
  server.command({"SET", "theirs", "untouched"});
  WaitingStore store = openStore(server.config());
  const std::string body = testBody(1 << 20);
  std::vector<uint64_t> stored;
  uint64_t refused = 0;
  for (uint64_t i = 1; i <= 200; ++i) {
    auto put = store.put(testRecord(i), body);
    if (put) {
      stored.push_back(i);
    } else {
      EXPECT_EQ(put.error().code, ErrorCode::Full) << put.error().detail;
      ++refused;
    }
  }
  EXPECT_GE(stored.size(), 5u);
  EXPECT_GE(refused, 150u);
  EXPECT_EQ(keysForEver(server), "0");
  auto stats = store.stats();
  EXPECT_EQ(stats->failures, refused);
  EXPECT_FALSE(stats->available);
  EXPECT_EQ(stats->profiles, stored.size());
  for (uint64_t i : stored) EXPECT_EQ(store.body(testId(i))->size(), 1u << 20);

  for (uint64_t i : stored) ASSERT_TRUE(store.erase(testId(i)));
  EXPECT_TRUE(store.put(testRecord(300), testBody(1 << 20))) << "erasing frees space";
  EXPECT_TRUE(store.stats()->available);
  EXPECT_EQ(server.command({"GET", "theirs"}), "untouched");
}

TEST_F(RedisStore, LivesWithAServerThatEvicts) {
  RedisServer server({"--maxmemory", "20mb", "--maxmemory-policy", "allkeys-lru"});
  WaitingStore store = openStore(server.config());
  const std::string body = testBody(1 << 20);
  for (uint64_t i = 1; i <= 200; ++i) {
    auto put = store.put(testRecord(i), body);
    EXPECT_TRUE(put) << put.error().detail;
  }
  auto page = store.list();
  ASSERT_TRUE(page) << page.error().detail;
  for (const ProfileRecord& record : page->records) EXPECT_TRUE(store.find(record.id));
  EXPECT_EQ(keysForEver(server), "0");
}

TEST_F(RedisStore, LeavesNothingBehindAfterTheTtl) {
  RedisServer server;
  config::Store config = server.config();
  config.retention.age = std::chrono::milliseconds(1500);
  WaitingStore store = openStore(config);
  for (uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(store.put(testRecord(i), testBody(1000)));
  ASSERT_TRUE(store.revoke({"jti", systemWallTime() + seconds(2)}));
  EXPECT_EQ(keysForEver(server), "0");
  EXPECT_TRUE(eventually([&server] { return server.command({"DBSIZE"}) == "0"; }));
  EXPECT_EQ(store.list()->total, 0u);
}

TEST_F(RedisStore, ForgetsLinesWhoseProfileHasGone) {
  RedisServer server;
  WaitingStore store = openStore(server.config());
  for (uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(store.put(testRecord(i), "body"));
  server.command({"DEL", "fg:{" + testId(2) + "}:meta", "fg:{" + testId(2) + "}:pprof"});
  EXPECT_EQ(store.list()->records.size(), 4u);
  EXPECT_EQ(server.command({"HLEN", "fg:{index}:rows"}), "4");
  EXPECT_EQ(store.stats()->profiles, 4u);
  server.command({"FLUSHALL"});
  EXPECT_EQ(store.list()->total, 0u);
  EXPECT_TRUE(store.put(testRecord(6), "body"));
  EXPECT_EQ(store.list()->total, 1u);
}

TEST_F(RedisStore, WalksOverNobodysKeys) {
  RedisServer server;
  config::Store config = server.config();
  config.retention.profiles_max = 5;
  WaitingStore store = openStore(config);
  for (uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(store.put(testRecord(i), "body"));
  ASSERT_TRUE(store.list());
  ASSERT_TRUE(store.pin(testId(10)));
  ASSERT_TRUE(store.sweep());
  ASSERT_TRUE(store.stats());
  const std::string used = server.command({"INFO", "commandstats"});
  EXPECT_NE(used.find("cmdstat_hset"), std::string::npos);
  for (const char* command : {"cmdstat_keys", "cmdstat_scan", "cmdstat_flush", "cmdstat_hgetall"}) {
    EXPECT_EQ(used.find(command), std::string::npos) << command;
  }
}

TEST_F(RedisStore, IsSharedByProcesses) {
  RedisServer server;
  WaitingStore one = openStore(server.config());
  WaitingStore two = openStore(server.config());
  for (uint64_t i = 1; i <= 6; ++i) ASSERT_TRUE((i % 2 ? one : two).put(testRecord(i), "body"));
  EXPECT_EQ(one.list()->total, 6u);
  EXPECT_EQ(two.list()->total, 6u);
  ASSERT_TRUE(one.erase(testId(3)));
  EXPECT_EQ(two.list()->total, 5u);
  ASSERT_TRUE(two.put(testRecord(3), "again"));
  EXPECT_EQ(one.list()->total, 6u);
  ASSERT_TRUE(one.update(testId(4), [](ProfileRecord& record) { record.route = "moved"; }));
  ListQuery query;
  query.route = "moved";
  EXPECT_EQ(two.list(query)->total, 1u);
  ASSERT_TRUE(two.pin(testId(5)));
  EXPECT_EQ(one.stats()->pinned, 1u);
}

TEST_F(RedisStore, LosesNoUpdateOfTwoProcesses) {
  RedisServer server;
  WaitingStore one = openStore(server.config());
  WaitingStore two = openStore(server.config());
  ProfileRecord record = testRecord(1);
  record.samples = 0;
  ASSERT_TRUE(one.put(record));
  std::atomic<int> updated{0};
  for (int i = 0; i < 200; ++i) {
    for (WaitingStore* store : {&one, &two}) {
      store->get().update(
          record.id, [](ProfileRecord& changed) { *changed.samples += 1; }, std::nullopt,
          [&updated](auto result) { updated += result ? 1 : 0; });
    }
  }
  one.close();
  two.close();
  WaitingStore reader = openStore(server.config());
  EXPECT_EQ(reader.find(record.id)->samples, static_cast<uint64_t>(updated));
  EXPECT_GE(updated, 200);
}

TEST_F(RedisStore, KeysOfAKilledProcessStillExpire) {
  RedisServer server;
  for (int round = 0; round < 5; ++round) {
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      WaitingStore store = openStore(server.config());
      for (uint64_t i = 1;; ++i) {
        if (!store.put(testRecord(i), testBody(200'000)) || ::write(fds[1], "x", 1) != 1)
          ::_exit(1);
      }
    }
    ::close(fds[1]);
    char byte = 0;
    for (int i = 0; i < 10 + round; ++i) ASSERT_EQ(::read(fds[0], &byte, 1), 1);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(fds[0]);
    EXPECT_EQ(keysForEver(server), "0");
  }
}

TEST_F(RedisStore, ComesBackLoggedInAfterARestartOfTheServer) {
  RedisServer server({"--requirepass", "pw"});
  server.setLogin("", "pw");
  config::Store config = server.config();
  config.redis.database = 3;
  WaitingStore store = openStore(config);
  ASSERT_TRUE(store.put(testRecord(1), "body"));
  server.stop();
  auto refused = store.put(testRecord(2), "body");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(store.stats()->available);
  server.start();
  EXPECT_TRUE(eventually([&store] { return store.put(testRecord(3), "body").has_value(); }));
  EXPECT_EQ(server.command({"-n", "3", "--raw", "GET", "fg:{" + testId(3) + "}:pprof"}), "body");
  EXPECT_EQ(store.list()->total, 1u) << "the server came back empty";
  EXPECT_TRUE(store.stats()->available);
}

TEST_F(RedisStore, NoticesNothingOfAKilledConnection) {
  RedisServer server({"--requirepass", "pw"});
  server.setLogin("", "pw");
  WaitingStore store = openStore(server.config());
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(store.put(testRecord(i), "body"));
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    EXPECT_EQ(store.list()->total, i);
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  }
  EXPECT_EQ(store.stats()->failures, 0u);
}

TEST_F(RedisStore, TriesARefusedLoginSeldomAndTellsNobodyThePassword) {
  constexpr const char* kPassword = "s3cret-@:/%#";
  RedisServer server({"--requirepass", kPassword});
  server.setLogin("", kPassword);
  testing::internal::CaptureStderr();
  WaitingStore store = openStore(server.config());
  ASSERT_TRUE(store.put(testRecord(1), "body"));

  server.command({"CONFIG", "SET", "requirepass", "another"});
  server.setLogin("", "another");
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  server.command({"CONFIG", "RESETSTAT"});
  std::string detail;
  for (int i = 0; i < 2000; ++i) {
    auto refused = store.put(testRecord(2), "body");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
    detail = refused.error().detail;
  }
  EXPECT_NE(detail.find("login failed"), std::string::npos) << detail;
  EXPECT_EQ(detail.find("s3cret"), std::string::npos) << detail;
  const std::string used = server.command({"INFO", "commandstats"});
  const size_t rejected = used.find("cmdstat_auth:calls=");
  ASSERT_NE(rejected, std::string::npos);
  // redis-cli's own logins are among them; 2000 calls must not be.
  EXPECT_LT(std::atoi(used.c_str() + rejected + 19), 30);

  server.command({"CONFIG", "SET", "requirepass", kPassword});
  server.setLogin("", kPassword);
  EXPECT_TRUE(eventually([&store] { return store.put(testRecord(3), "body").has_value(); }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("login failed"), std::string::npos) << log;
  EXPECT_EQ(log.find("s3cret"), std::string::npos) << log;
}

TEST_F(RedisStore, SaysWhatItsUserMayNot) {
  RedisServer server;
  server.command({"ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-set"});
  config::Store config = server.config();
  config.redis.user = "reader";
  config.redis.password = "pw";
  WaitingStore store = openStore(config);
  auto refused = store.put(testRecord(1), "body");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_NE(refused.error().detail.find("permit"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(server.command({"DBSIZE"}), "0");
}

TEST_F(RedisStore, RefusesWhatIsNotServed) {
  config::Store config;
  config.kind = config::Store::Kind::Redis;
  config.redis.tls = true;
  EXPECT_EQ(createStore(config).error().code, ErrorCode::Unsupported);
  config.redis.tls = false;
  config.redis.cluster = true;
  EXPECT_EQ(createStore(config).error().code, ErrorCode::Unsupported);
  config.redis.cluster = false;
  config.redis.sentinel_master = "main";
  EXPECT_EQ(createStore(config).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace flamegate::control
