#include "proxy/upstream/pool.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct Events final : ClientStreamEvents {
  void onUpstreamReady() override { ++ready; }
  int ready = 0;
};

struct Waiter final : UpstreamWaiter {
  Waiter(std::string& log_in, char mark_in) : log(log_in), mark(mark_in) {}
  void resume() override { log += mark; }
  std::string& log;
  char mark;
};

// A pool of connections to applications that the test plays itself.
struct PoolTest : testing::Test {
  ~PoolTest() override {
    pool.reset();
    settle(*loop);
  }

  void open(size_t endpoints, UpstreamOptions options = {}) {
    for (size_t i = 0; i < endpoints; ++i) {
      listening.push_back(listenAnywhere());
      options.endpoints.push_back(localAddress(listening.back().get()));
    }
    pool = std::make_unique<UpstreamPool>(context, std::move(options));
  }

  UpstreamLease acquire(UpstreamNeed need = {}) {
    auto lease = pool->acquire(events, need);
    EXPECT_TRUE(lease) << (lease ? "" : lease.error().detail);
    return lease ? *lease : UpstreamLease{};
  }

  // The application's end of the newest connection to an endpoint.
  UniqueFd acceptAt(size_t endpoint) {
    waitFor(listening[endpoint].get(), POLLIN);
    return UniqueFd(
        ::accept4(listening[endpoint].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

  // One request and its response, so that the connection can be kept.
  void serve(const UpstreamLease& lease, const UniqueFd& application) {
    RequestHead head;
    const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    parseRequestHead(bytes, 0, {}, head);
    runUntil(*loop, [&] { return lease.stream->connected(); });
    lease.stream->sendHead(head);
    lease.stream->sendEnd(nullptr);
    lease.stream->flush();
    waitFor(application.get(), POLLIN);
    receiveSome(application.get());
    sendSome(application.get(), kAnswer);
    runUntil(*loop, [&] { return lease.stream->readHead(); });
    EXPECT_EQ(lease.stream->content(), "ok");
    lease.stream->consume(2);
    EXPECT_TRUE(lease.stream->responseEnded());
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  ObjectPool<Http1Response> responses;
  ClientSessionContext context{.loop = *loop, .responses = responses, .limits = {}};
  Events events;
  std::vector<UniqueFd> listening;
  std::unique_ptr<UpstreamPool> pool;
};

TEST_F(PoolTest, LendsTheConnectionThatWasUsedLast) {
  open(1);
  const UpstreamLease first = acquire();
  const UniqueFd first_application = acceptAt(0);
  const UpstreamLease second = acquire();
  const UniqueFd second_application = acceptAt(0);
  EXPECT_NE(first.stream, second.stream);
  serve(first, first_application);
  serve(second, second_application);
  pool->release(first);
  pool->release(second);
  EXPECT_EQ(pool->connections(), 2u);
  const UpstreamLease third = acquire();
  EXPECT_EQ(third.stream, second.stream);
  EXPECT_TRUE(third.stream->reused());
  const UpstreamLease fourth = acquire();
  EXPECT_EQ(fourth.stream, first.stream);
  EXPECT_EQ(pool->connections(), 2u);
  pool->release(third);
  pool->release(fourth);
}

TEST_F(PoolTest, OpensANewConnectionWhenAFreshOneIsNeeded) {
  open(1);
  const UpstreamLease first = acquire();
  const UniqueFd application = acceptAt(0);
  serve(first, application);
  pool->release(first);
  const UpstreamLease fresh = acquire({.fresh = true});
  EXPECT_NE(fresh.stream, first.stream);
  EXPECT_FALSE(fresh.stream->reused());
  pool->release(fresh);
}

TEST_F(PoolTest, DropsAConnectionWhoseRequestDidNotEnd) {
  open(1);
  const UpstreamLease lease = acquire();
  pool->release(lease);
  EXPECT_EQ(pool->connections(), 0u);
}

TEST_F(PoolTest, KeepsToItsLimitOfConnections) {
  open(1, {.endpoints = {}, .connections_max = 1});
  const UpstreamLease lease = acquire();
  const auto refused = pool->acquire(events, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Full);
  pool->release(lease);
  pool->release(acquire());
}

TEST_F(PoolTest, ClosesAnIdleConnectionToMakeRoomForAnotherEndpoint) {
  open(2, {.endpoints = {}, .balance = UpstreamOptions::Balance::RoundRobin, .connections_max = 1});
  const UpstreamLease first = acquire();
  const UniqueFd application = acceptAt(first.endpoint);
  serve(first, application);
  pool->release(first);
  const UpstreamLease second = acquire();
  EXPECT_NE(second.endpoint, first.endpoint);
  EXPECT_EQ(pool->connections(), 1u);
  pool->release(second);
}

TEST_F(PoolTest, WakesWaitersInTheirOrderOneForEachRelease) {
  open(1, {.endpoints = {}, .connections_max = 2, .pending_max = 3});
  const UpstreamLease first = acquire();
  const UpstreamLease second = acquire();
  std::string log;
  Waiter a(log, 'a');
  Waiter b(log, 'b');
  Waiter c(log, 'c');
  Waiter d(log, 'd');
  for (Waiter* waiter : {&a, &b, &c}) EXPECT_TRUE(pool->wait(*waiter));
  EXPECT_FALSE(pool->wait(d)) << "the queue is full";
  pool->cancelWait(b);
  pool->cancelWait(b);
  EXPECT_TRUE(pool->wait(d)) << "there is room again";
  settle(*loop);
  EXPECT_EQ(log, "");
  pool->release(first);
  EXPECT_EQ(log, "") << "never from within";
  settle(*loop);
  EXPECT_EQ(log, "a");
  pool->release(second);
  settle(*loop);
  EXPECT_EQ(log, "ac");
  pool->cancelWait(d);
}

TEST_F(PoolTest, ForgetsAnIdleConnectionThatTheApplicationClosed) {
  open(1);
  const UpstreamLease lease = acquire();
  UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  application.reset();
  runUntil(*loop, [&] { return pool->connections() == 0; });
  const UpstreamLease next = acquire();
  EXPECT_FALSE(next.stream->reused());
  pool->release(next);
}

// The loop has not been told of the close yet; the kernel has.
TEST_F(PoolTest, LooksBeforeARequestThatMustNotBeSentTwice) {
  open(1);
  const UpstreamLease lease = acquire();
  UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  application.reset();
  const UpstreamLease next = acquire({.unrepeatable = true});
  EXPECT_FALSE(next.stream->reused());
  EXPECT_EQ(pool->connections(), 1u);
  pool->release(next);
}

TEST_F(PoolTest, ForgetsAnIdleConnectionThatSpeaksUnasked) {
  open(1);
  const UpstreamLease lease = acquire();
  const UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  sendSome(application.get(), kAnswer);
  runUntil(*loop, [&] { return pool->connections() == 0; });
}

TEST_F(PoolTest, ClosesWhatHasBeenIdleForTooLong) {
  open(1, {.endpoints = {}, .idle = std::chrono::milliseconds(1)});
  const UpstreamLease lease = acquire();
  const UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  EXPECT_EQ(pool->connections(), 1u);
  runUntil(*loop, [&] { return pool->connections() == 0; });
  bool ended = false;
  receiveSome(application.get(), 1, &ended);
  EXPECT_TRUE(ended);
}

TEST_F(PoolTest, SpreadsOverEndpoints) {
  open(3);
  std::vector<UpstreamLease> leases;
  std::vector<int> counts(3);
  for (int i = 0; i < 9; ++i) {
    leases.push_back(acquire());
    ++counts[leases.back().endpoint];
  }
  EXPECT_EQ(counts, std::vector<int>({3, 3, 3}));
  // The one with the fewest requests is next.
  const size_t freed = leases.back().endpoint;
  pool->release(leases.back());
  leases.back() = acquire();
  EXPECT_EQ(leases.back().endpoint, freed);
  for (const UpstreamLease& lease : leases) pool->release(lease);
}

TEST_F(PoolTest, AvoidsAnEndpointWhenThereIsAnother) {
  open(2);
  for (int i = 0; i < 4; ++i) {
    const UpstreamLease lease = acquire({.other_than = 0});
    EXPECT_EQ(lease.endpoint, 1u);
    pool->release(lease);
  }
}

TEST_F(PoolTest, UsesTheOnlyEndpointEvenWhenItIsToBeAvoided) {
  open(1);
  const UpstreamLease lease = acquire({.other_than = 0});
  EXPECT_EQ(lease.endpoint, 0u);
  pool->release(lease);
}

TEST_F(PoolTest, HasNothingToLendWithoutEndpoints) {
  open(0);
  const auto lease = pool->acquire(events, {});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace flamegate::proxy
