// RedisConnection and the store against a server that answers wrongly, late, or not at all.
#include <functional>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "control/store/redis_connection.h"
#include "tests/control/store/store_support.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;

// Serves one connection after the other with what `answer` makes of each piece that arrives;
// nothing closes the connection. Thread: one of its own, which `answer` runs on.
class FakeRedis {
 public:
  using Answer = std::function<std::optional<std::string>(std::string_view)>;

  enum class After { Stay, Close };  // what follows an answer

  explicit FakeRedis(Answer answer, After after = After::Stay)
      : answer_(std::move(answer)), after_(after) {
    listener_ = proxy::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), plain, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    EXPECT_EQ(::getsockname(listener_.get(), plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  ~FakeRedis() {
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  int connections() const { return connections_; }

  config::Store config() const {
    config::Store config;
    config.kind = config::Store::Kind::Redis;
    config.redis.address = config::Address::tcp("127.0.0.1", port_);
    config.redis.timeout = std::chrono::milliseconds(200);
    return config;
  }

 private:
  void serve() {
    while (!stopping_) {
      const proxy::UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      if (!client.valid()) continue;
      ++connections_;
      char bytes[65536];
      while (!stopping_) {
        pollfd poll_fd{client.get(), POLLIN, 0};
        if (::poll(&poll_fd, 1, 20) == 0) continue;
        const ssize_t size = ::recv(client.get(), bytes, sizeof bytes, 0);
        if (size <= 0) break;
        const auto answer = answer_({bytes, static_cast<size_t>(size)});
        if (!answer) break;
        if (::send(client.get(), answer->data(), answer->size(), MSG_NOSIGNAL) < 0) break;
        if (after_ == After::Close) break;
      }
    }
  }

  Answer answer_;
  const After after_;
  proxy::UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

RespCommands ping() {
  RespCommands commands;
  commands.add({"PING"});
  return commands;
}

ErrorCode codeOf(const FakeRedis& server) {
  RedisConnection connection(server.config().redis);
  auto replies = connection.call(ping());
  EXPECT_FALSE(replies);
  return replies ? ErrorCode::Io : replies.error().code;
}

TEST(FakeRedis, AnswersWhenAllIsWell) {
  FakeRedis server([](auto) { return "+PONG\r\n"; });
  RedisConnection connection(server.config().redis);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connection.call(ping())->front().text, "PONG");
  EXPECT_EQ(server.connections(), 1);
}

TEST(FakeRedis, IsNoRedisServer) {
  FakeRedis server([](auto) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; });
  EXPECT_EQ(codeOf(server), ErrorCode::Malformed);
}

TEST(FakeRedis, ClosesWithoutAReplyOrInTheMiddleOfOne) {
  FakeRedis silent([](auto) { return std::nullopt; });
  EXPECT_EQ(codeOf(silent), ErrorCode::Unavailable);
  FakeRedis torn([](auto) { return "$100\r\nabc"; }, FakeRedis::After::Close);
  EXPECT_EQ(codeOf(torn), ErrorCode::Unavailable);
}

TEST(FakeRedis, AnnouncesMoreThanItSends) {
  FakeRedis server([](auto) { return "$100\r\nabc"; });
  EXPECT_EQ(codeOf(server), ErrorCode::Timeout);
}

TEST(FakeRedis, NeverAnswers) {
  FakeRedis server([](auto) { return ""; });
  EXPECT_EQ(codeOf(server), ErrorCode::Timeout);
}

TEST(FakeRedis, IsNotThere) {
  config::Redis config;
  {
    FakeRedis server([](auto) { return ""; });
    config = server.config().redis;
  }
  RedisConnection connection(config);
  auto replies = connection.call(ping());
  ASSERT_FALSE(replies);
  EXPECT_EQ(replies.error().code, ErrorCode::Unavailable);
}

TEST(FakeRedis, IsNotConnectedToAnewForEachCall) {
  FakeRedis server([](auto) { return std::nullopt; });
  RedisConnection connection(server.config().redis);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(connection.call(ping()));
  EXPECT_LT(server.connections(), 20);
}

TEST(FakeRedis, IsReplacedWhenAnIdleConnectionHasGone) {
  int calls = 0;
  FakeRedis server([&calls](auto) -> std::optional<std::string> {
    return ++calls % 2 ? std::optional("+PONG\r\n") : std::nullopt;
  });
  RedisConnection connection(server.config().redis);
  EXPECT_TRUE(connection.call(ping()));
  EXPECT_TRUE(connection.call(ping())) << "sent again on a second connection";
  EXPECT_EQ(server.connections(), 2);
  auto replies = connection.call(ping(), RedisConnection::Link::Same);
  ASSERT_FALSE(replies);
  EXPECT_EQ(replies.error().code, ErrorCode::Reset) << "what belongs to a connection ends with it";
}

TEST(FakeRedis, MayNotLogUsIn) {
  FakeRedis server([](std::string_view) {
    return "-ERR unknown command `AUTH`, with args beginning with: `hunter2`\r\n";
  });
  config::Redis config = server.config().redis;
  config.password = "hunter2";
  RedisConnection connection(config);
  for (int i = 0; i < 100; ++i) {
    auto replies = connection.call(ping());
    ASSERT_FALSE(replies);
    EXPECT_EQ(replies.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(replies.error().detail.find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(FakeRedis, SendsNothingBeforeTheLoginIsAccepted) {
  std::mutex mutex;
  std::vector<std::string> received;
  FakeRedis server([&](std::string_view bytes) {
    const std::lock_guard lock(mutex);
    received.emplace_back(bytes);
    return received.size() == 1 ? "+OK\r\n+OK\r\n" : "+PONG\r\n";
  });
  config::Redis config = server.config().redis;
  config.user = "gate";
  config.password = "p w\r\n";
  config.database = 7;
  RedisConnection connection(config);
  ASSERT_TRUE(connection.call(ping()));
  const std::lock_guard lock(mutex);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0],
            "*3\r\n$4\r\nAUTH\r\n$4\r\ngate\r\n$5\r\np w\r\n\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n7\r\n");
  EXPECT_EQ(received[1], "*1\r\n$4\r\nPING\r\n");
}

struct Refusal {
  const char* reply;
  ErrorCode code;
  const char* part;
};

TEST(FakeRedis, RefusesForReasonsThatAreNamed) {
  const Refusal kRefusals[] = {
      {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", ErrorCode::Full, "memory"},
      {"-READONLY You can't write against a read only replica.\r\n", ErrorCode::Unavailable,
       "read-only"},
      {"-LOADING Redis is loading the dataset in memory\r\n", ErrorCode::Unavailable, "loading"},
      {"-MISCONF Redis is configured to save RDB snapshots\r\n", ErrorCode::Unavailable, "save"},
      {"-BUSY Redis is busy running a script.\r\n", ErrorCode::Unavailable, "busy"},
      {"-NOAUTH Authentication required.\r\n", ErrorCode::Unavailable, "login"},
      {"-ERR whatever\r\n", ErrorCode::Unavailable, "ERR"},
      {"-\r\n", ErrorCode::Unavailable, "unknown"},
      {"+OK\r\n", ErrorCode::Unavailable, ""},
      {"*1\r\n$1\r\nx\r\n", ErrorCode::Unavailable, ""},
  };
  for (const Refusal& refusal : kRefusals) {
    FakeRedis server([&refusal](std::string_view bytes) {
      std::string out;
      for (size_t at = 0; (at = bytes.find('*', at)) != std::string_view::npos; ++at) {
        out += refusal.reply;
      }
      return out;
    });
    auto store = createStore(server.config(), manualTuning());
    ASSERT_TRUE(store);
    WaitingStore waiting(std::move(*store));
    auto found = waiting.list();
    if (refusal.reply[0] != '-') continue;  // an answer of the wrong kind must only not end us
    auto put = waiting.put(testRecord(1), "body");
    ASSERT_FALSE(put) << refusal.reply;
    EXPECT_EQ(put.error().code, refusal.code) << refusal.reply;
    EXPECT_NE(put.error().detail.find(refusal.part), std::string::npos) << put.error().detail;
    EXPECT_FALSE(found);
  }
}

}  // namespace
}  // namespace flamegate::control
