#include "proxy/upstream/pool.h"

#include <vector>

#include <gtest/gtest.h>

#include "proxy/session/http1_client_session.h"
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

  void open(size_t endpoints, ClusterOptions options = {}) {
    cluster = std::make_shared<Cluster>(std::move(options), 2);
    while (listening.size() < endpoints) listening.push_back(listenAnywhere());
    publish(0, endpoints);
    pool = std::make_unique<UpstreamPool>(context, cluster, 0);
  }

  // Makes the applications from `first` on, `count` of them, the endpoints.
  void publish(size_t first, size_t count) {
    std::vector<EndpointTarget> targets;
    for (size_t i = first; i < first + count; ++i) {
      targets.push_back({.address = localAddress(listening[i].get()), .server = "app"});
    }
    cluster->publish(std::move(targets));
  }

  // The application that a lease leads to.
  size_t at(const UpstreamLease& lease) const {
    for (size_t i = 0; i < listening.size(); ++i) {
      if (lease.endpoint->name() == localAddress(listening[i].get()).toString()) return i;
    }
    return listening.size();
  }

  const Endpoint* endpoint(size_t i) const { return cluster->endpoints()->endpoints[i].get(); }

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
  std::shared_ptr<Cluster> cluster;
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
  open(1, {.connections_max = 1});
  const UpstreamLease lease = acquire();
  const auto refused = pool->acquire(events, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Full);
  pool->release(lease);
  pool->release(acquire());
}

TEST_F(PoolTest, ClosesAnIdleConnectionToMakeRoomForAnotherEndpoint) {
  open(2, {.balance = BalancePolicy::RoundRobin, .connections_max = 1});
  const UpstreamLease first = acquire();
  const UniqueFd application = acceptAt(at(first));
  serve(first, application);
  pool->release(first);
  const UpstreamLease second = acquire();
  EXPECT_NE(second.endpoint, first.endpoint);
  EXPECT_EQ(pool->connections(), 1u);
  pool->release(second);
}

TEST_F(PoolTest, WakesWaitersInTheirOrderOneForEachRelease) {
  open(1, {.connections_max = 2, .pending_max = 3});
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
  open(1, {.idle = std::chrono::milliseconds(1)});
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
    ++counts[at(leases.back())];
  }
  EXPECT_EQ(counts, std::vector<int>({3, 3, 3}));
  // The one with the fewest requests is next.
  const Endpoint* freed = leases.back().endpoint;
  pool->release(leases.back());
  leases.back() = acquire();
  EXPECT_EQ(leases.back().endpoint, freed);
  for (const UpstreamLease& lease : leases) pool->release(lease);
}

TEST_F(PoolTest, AvoidsAnEndpointWhenThereIsAnother) {
  open(2);
  for (int i = 0; i < 4; ++i) {
    const UpstreamLease lease = acquire({.other_than = endpoint(0)});
    EXPECT_EQ(lease.endpoint, endpoint(1));
    pool->release(lease);
  }
}

TEST_F(PoolTest, UsesTheOnlyEndpointEvenWhenItIsToBeAvoided) {
  open(1);
  const UpstreamLease lease = acquire({.other_than = endpoint(0)});
  EXPECT_EQ(lease.endpoint, endpoint(0));
  pool->release(lease);
}

TEST_F(PoolTest, HasNothingToLendWithoutEndpoints) {
  open(0);
  const auto lease = pool->acquire(events, {});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::NotFound);
}

TEST_F(PoolTest, HasNothingToLendWhileNoEndpointIsHealthy) {
  open(1);
  cluster->endpoints()->endpoints[0]->setHealthy(false, loop->now());
  const auto lease = pool->acquire(events, {});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::Unavailable);
  cluster->endpoints()->endpoints[0]->setHealthy(true, loop->now());
  pool->release(acquire());
}

TEST_F(PoolTest, KeepsConnectionsToEndpointsThatStay) {
  open(2);
  const UpstreamLease stays = acquire({.other_than = endpoint(0)});
  const UpstreamLease goes = acquire({.other_than = endpoint(1)});
  const UniqueFd stays_application = acceptAt(1);
  const UniqueFd goes_application = acceptAt(0);
  serve(stays, stays_application);
  pool->release(stays);
  publish(1, 1);
  settle(*loop);
  // The lease on the other is not cut.
  serve(goes, goes_application);
  EXPECT_EQ(pool->connections(), 2u);
  pool->release(goes);
  EXPECT_EQ(pool->connections(), 1u) << "an endpoint that has gone keeps no connection";
  const UpstreamLease again = acquire();
  EXPECT_EQ(again.session, stays.session);
  EXPECT_TRUE(again.stream->reused());
  pool->release(again);
}

TEST_F(PoolTest, WakesWaitersWhenEndpointsChange) {
  open(1, {.connections_max = 1});
  const UpstreamLease lease = acquire();
  std::string log;
  Waiter waiter(log, 'a');
  EXPECT_TRUE(pool->wait(waiter));
  listening.push_back(listenAnywhere());
  publish(1, 1);
  settle(*loop);
  EXPECT_EQ(log, "a");
  pool->release(lease);
}

TEST_F(PoolTest, RefusesRequestsOverTheLimit) {
  open(1, {.requests_max = 2});
  EXPECT_TRUE(pool->enter());
  EXPECT_TRUE(pool->enter());
  EXPECT_FALSE(pool->enter());
  EXPECT_EQ(cluster->total(&ClusterCounters::overflows), 1u);
  pool->leave();
  EXPECT_TRUE(pool->enter());
  pool->leave();
  pool->leave();
  EXPECT_EQ(cluster->total(&ClusterCounters::active), 0u);
}

TEST_F(PoolTest, AllowsFewRetriesAlwaysAndMoreWithinTheirShare) {
  open(1, {.retry_budget_percent = 50});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool->beginRetry());
  EXPECT_FALSE(pool->beginRetry());
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(pool->enter());
  EXPECT_TRUE(pool->beginRetry());
  EXPECT_FALSE(pool->beginRetry());
  for (int i = 0; i < 4; ++i) pool->endRetry();
  for (int i = 0; i < 8; ++i) pool->leave();
}

// A second worker's pool, on the same loop for the test's sake.
TEST_F(PoolTest, GivesAnIdleConnectionUpForAnotherWorker) {
  open(1, {.connections_max = 1});
  const UpstreamLease lease = acquire();
  const UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  EXPECT_EQ(pool->connections(), 1u);
  UpstreamPool other(context, cluster, 1);
  const auto refused = other.acquire(events, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Full);
  std::string log;
  Waiter waiter(log, 'a');
  EXPECT_TRUE(other.wait(waiter));
  settle(*loop);
  EXPECT_EQ(log, "a");
  EXPECT_EQ(pool->connections(), 0u);
  const auto granted = other.acquire(events, {});
  ASSERT_TRUE(granted);
  other.release(*granted);
}

TEST_F(PoolTest, KeepsNoConnectionIdleThatAnotherWorkerWaitsFor) {
  open(1, {.connections_max = 1});
  const UpstreamLease lease = acquire();
  const UniqueFd application = acceptAt(0);
  UpstreamPool other(context, cluster, 1);
  std::string log;
  Waiter waiter(log, 'a');
  EXPECT_TRUE(other.wait(waiter));
  settle(*loop);
  EXPECT_EQ(log, "");
  serve(lease, application);
  pool->release(lease);
  settle(*loop);
  EXPECT_EQ(log, "a");
}

TEST_F(PoolTest, EjectsAnEndpointThatFailsInARowButAtMostHalf) {
  open(2, {.outlier = ClusterOptions::Outlier{.consecutive = 2, .eject = std::chrono::hours(1)}});
  const auto failAt = [&](size_t i, bool failed) {
    const UpstreamLease lease = acquire({.other_than = endpoint(1 - i)});
    EXPECT_EQ(lease.endpoint, endpoint(i));
    pool->onResult(lease, failed);
    pool->release(lease);
  };
  failAt(0, true);
  failAt(0, false);
  failAt(0, true);
  EXPECT_FALSE(endpoint(0)->ejected(loop->now())) << "not in a row";
  failAt(0, true);
  EXPECT_TRUE(endpoint(0)->ejected(loop->now()));
  for (int i = 0; i < 3; ++i) {
    const UpstreamLease lease = acquire();
    EXPECT_EQ(lease.endpoint, endpoint(1));
    pool->onResult(lease, true);
    pool->release(lease);
  }
  EXPECT_FALSE(endpoint(1)->ejected(loop->now())) << "one stays";
  EXPECT_GT(cluster->ejectionsPrevented(), 0u);
}

// What is ejected is better than nothing.
TEST_F(PoolTest, UsesEjectedEndpointsWhenNothingElseIsHealthy) {
  open(2);
  const auto& all = cluster->endpoints()->endpoints;
  all[0]->eject(loop->now() + std::chrono::hours(1));
  all[1]->setHealthy(false, loop->now());
  const UpstreamLease lease = acquire();
  EXPECT_EQ(lease.endpoint, all[0].get());
  pool->release(lease);
}

// Sessions are dropped with their pool, not after what they share with others.
TEST_F(PoolTest, GivesItsConnectionsBackWhenItEnds) {
  open(1, {.connections_max = 1});
  const UpstreamLease lease = acquire();
  const UniqueFd application = acceptAt(0);
  serve(lease, application);
  pool->release(lease);
  EXPECT_EQ(cluster->connections(), 1u);
  pool.reset();
  EXPECT_EQ(cluster->connections(), 0u);
  EXPECT_EQ(endpoint(0)->total(&EndpointCounters::connections), 0u);
  char byte = 0;
  waitFor(application.get(), POLLIN);
  EXPECT_EQ(::recv(application.get(), &byte, 1, 0), 0) << "closed at once";
}

}  // namespace
}  // namespace flamegate::proxy
