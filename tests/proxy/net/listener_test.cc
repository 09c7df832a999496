#include "proxy/net/listener.h"

#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

struct ListenerTest : testing::Test {
  ListenerTest() {
    auto made = Listener::create(*loop, listenAnywhere(), [this](UniqueFd fd, const Address& peer) {
      accepted.push_back(std::move(fd));
      peers.push_back(peer.toString());
    });
    EXPECT_TRUE(made);
    listener = std::move(*made);
  }

  UniqueFd connectOne() {
    auto fd = connectTo(listener->address());
    EXPECT_TRUE(fd);
    return std::move(*fd);
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  std::unique_ptr<Listener> listener;
  std::vector<UniqueFd> accepted;
  std::vector<std::string> peers;
};

// No further descriptor can be opened while this lives.
struct DescriptorsExhausted {
  DescriptorsExhausted() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    const UniqueFd next(::dup(0));
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(next.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~DescriptorsExhausted() { ::setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

TEST_F(ListenerTest, KnowsThePortThatTheSystemChose) {
  EXPECT_NE(listener->address().port(), 0);
  EXPECT_EQ(listener->address().host(), "127.0.0.1");
}

TEST_F(ListenerTest, AcceptsEachConnectionOnce) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(connectOne());
  runUntil(*loop, [&] { return accepted.size() == clients.size(); });
  settle(*loop);
  EXPECT_EQ(accepted.size(), clients.size());
  std::vector<std::string> names;
  for (const UniqueFd& client : clients) names.push_back(localAddress(client.get()).toString());
  EXPECT_EQ(peers, names);
}

TEST_F(ListenerTest, LetsConnectionsWaitWhilePaused) {
  listener->pause();
  const UniqueFd client = connectOne();
  waitFor(client.get(), POLLOUT);
  settle(*loop);
  EXPECT_TRUE(accepted.empty());
  listener->resume();
  runUntil(*loop, [&] { return accepted.size() == 1; });
}

TEST_F(ListenerTest, PausesRatherThanSpinsWhenDescriptorsRunOut) {
  const UniqueFd client = connectOne();
  waitFor(client.get(), POLLOUT);
  {
    const DescriptorsExhausted exhausted;
    runUntil(*loop, [&] { return listener->exhaustedCount() > 0; });
    settle(*loop);
    EXPECT_EQ(listener->exhaustedCount(), 1u);
    EXPECT_TRUE(accepted.empty());
  }
  runUntil(*loop, [&] { return accepted.size() == 1; });
}

TEST_F(ListenerTest, StaysPausedWhenItsOwnerPausedItMeanwhile) {
  const UniqueFd client = connectOne();
  waitFor(client.get(), POLLOUT);
  {
    const DescriptorsExhausted exhausted;
    runUntil(*loop, [&] { return listener->exhaustedCount() > 0; });
  }
  listener->pause();
  loop->timers().advance(loop->now() + std::chrono::seconds(1));
  settle(*loop);
  EXPECT_TRUE(accepted.empty());
}

TEST(ListenOn, SharesAPortAmongWorkersOnlyWhenAsked) {
  auto first = listenOn(*Address::parse("127.0.0.1:0"), true, 1);
  ASSERT_TRUE(first);
  const Address address = localAddress(first->get());
  EXPECT_TRUE(listenOn(address, true, 1));
  const auto third = listenOn(address, false, 1);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::Io);
}

TEST(ListenOn, ReplacesAnAbandonedUnixSocketButNoLiveOne) {
  const std::string path = testing::TempDir() + "flamegate-listen-" + std::to_string(::getpid());
  const Address address = *Address::parse("unix:" + path);
  ASSERT_TRUE(listenOn(address, false, 1));
  auto second = listenOn(address, false, 1);
  ASSERT_TRUE(second) << "the first one is closed";
  EXPECT_FALSE(listenOn(address, false, 1));
  EXPECT_TRUE(connectTo(address));
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace flamegate::proxy
