#include "proxy/session/proxy_greeting.h"

#include <optional>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

struct ProxyGreetingTest : testing::Test {
  ProxyGreetingTest() {
    context.on_done = [](void* self, ProxyGreeting& done) {
      auto* test = static_cast<ProxyGreetingTest*>(self);
      test->outcome = std::string(done.refusal());
    };
    context.owner = this;
    SocketPair pair = makeSocketPair();
    peer = std::move(pair.peer);
    greeting = std::make_unique<ProxyGreeting>(context, std::move(pair.ours),
                                               *Address::parse("127.0.0.1:9"), 0);
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  ProxyGreetingContext context{.loop = *loop};
  std::optional<std::string> outcome;  // the refusal, empty for success
  UniqueFd peer;
  std::unique_ptr<ProxyGreeting> greeting;
};

TEST_F(ProxyGreetingTest, LeavesWhatFollowsInTheSocket) {
  greeting->start();
  sendSome(peer.get(), "PROXY TCP4 10.1.2.3 10.0.0.1 1 2\r\nGET /");
  settle(*loop);
  EXPECT_EQ(outcome, "");
  EXPECT_EQ(greeting->client().toString(), "10.1.2.3:1");
  const UniqueFd fd = greeting->takeFd();
  EXPECT_EQ(receiveSome(fd.get()), "GET /");
}

TEST_F(ProxyGreetingTest, FindsAHeaderThatWasThereBefore) {
  sendSome(peer.get(), "PROXY TCP4 10.1.2.3 10.0.0.1 1 2\r\n");
  greeting->start();
  settle(*loop);
  EXPECT_EQ(outcome, "");
}

TEST_F(ProxyGreetingTest, WaitsByteByByte) {
  greeting->start();
  for (char byte : std::string("PROXY TCP4 10.1.2.3 10.0.0.1 1 2\r\n")) {
    EXPECT_FALSE(outcome);
    sendSome(peer.get(), {&byte, 1});
    settle(*loop);
  }
  EXPECT_EQ(outcome, "");
}

TEST_F(ProxyGreetingTest, NamesTheProxyOrNobody) {
  greeting->start();
  sendSome(peer.get(), "PROXY UNKNOWN\r\n");
  settle(*loop);
  EXPECT_EQ(outcome, "");
  EXPECT_EQ(greeting->client().family(), AF_UNSPEC);
}

TEST_F(ProxyGreetingTest, RefusesOtherBeginnings) {
  greeting->start();
  sendSome(peer.get(), "GET / HTTP/1.1\r\n");
  settle(*loop);
  EXPECT_EQ(outcome, "proxy-header-malformed");
}

TEST_F(ProxyGreetingTest, RefusesAPeerThatLeaves) {
  greeting->start();
  sendSome(peer.get(), "PROXY TCP4");
  ::shutdown(peer.get(), SHUT_WR);
  settle(*loop);
  EXPECT_EQ(outcome, "proxy-header-missing");
}

TEST_F(ProxyGreetingTest, RefusesAPeerThatTakesTooLong) {
  context.timeout = std::chrono::milliseconds(1);
  greeting->start();
  runUntil(*loop, [this] { return outcome.has_value(); });
  EXPECT_EQ(outcome, "proxy-header-timeout");
}

}  // namespace
}  // namespace flamegate::proxy
