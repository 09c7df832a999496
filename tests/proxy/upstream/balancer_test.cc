#include "proxy/upstream/balancer.h"

#include <map>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

constexpr TimePoint kNow{1'000'000'000'000};

struct BalancerTest : testing::Test {
  void open(BalancePolicy policy, const std::vector<uint32_t>& weights, Duration slow_start = {}) {
    cluster =
        std::make_unique<Cluster>(ClusterOptions{.balance = policy, .slow_start = slow_start}, 2);
    std::vector<EndpointTarget> targets;
    for (size_t i = 0; i < weights.size(); ++i) targets.push_back(target(i, weights[i]));
    cluster->publish(std::move(targets));
    set = cluster->endpoints();
    balancer = std::make_unique<Balancer>(cluster->options(), 0);
    balancer->reset(weights.size());
  }
  static EndpointTarget target(size_t i, uint32_t weight) {
    return {.address = *Address::parse("10.0.0.1:" + std::to_string(1000 + i)),
            .server = "app",
            .weight = weight};
  }

  Endpoint& at(size_t i) { return *set->endpoints[i]; }
  size_t choose(Balancer::Wish wish = {.now = kNow}) { return balancer->choose(*set, wish); }
  // How often each is chosen; a choice stays active when `hold`.
  std::map<size_t, int> spread(int rounds, bool hold = false) {
    std::map<size_t, int> counts;
    for (int i = 0; i < rounds; ++i) {
      const size_t chosen = choose();
      ++counts[chosen];
      if (hold && chosen < set->endpoints.size()) at(chosen).counters(0).active.add();
    }
    return counts;
  }

  std::unique_ptr<Cluster> cluster;
  std::shared_ptr<const EndpointSet> set;
  std::unique_ptr<Balancer> balancer;
};

using Counts = std::map<size_t, int>;

TEST_F(BalancerTest, GivesTheLeastBusyTheNextRequest) {
  open(BalancePolicy::LeastRequest, {1, 1, 1});
  at(0).counters(0).active.add(2);
  at(1).counters(0).active.add(1);
  at(2).counters(0).active.add(3);
  at(1).counters(1).active.add(50);  // another worker's: each sees its own
  EXPECT_EQ(choose(), 1u);
}

TEST_F(BalancerTest, CountsRequestsInRelationToWeight) {
  open(BalancePolicy::LeastRequest, {3, 1});
  EXPECT_EQ(spread(40, true), (Counts{{0, 30}, {1, 10}}));
}

TEST_F(BalancerTest, ComparesTwoOfManyAndKeepsThemLevel) {
  open(BalancePolicy::LeastRequest, std::vector<uint32_t>(64, 1));
  const Counts counts = spread(6400, true);
  EXPECT_EQ(counts.size(), 64u);
  for (const auto& [index, count] : counts) {
    EXPECT_GT(count, 90) << index;
    EXPECT_LT(count, 110) << index;
  }
}

TEST_F(BalancerTest, FindsTheOnlyUsableOneOfMany) {
  open(BalancePolicy::LeastRequest, std::vector<uint32_t>(64, 1));
  for (size_t i = 0; i < 63; ++i) at(i).setHealthy(false, kNow);
  EXPECT_EQ(spread(50), (Counts{{63, 50}}));
}

TEST_F(BalancerTest, TakesTurnsByWeightWithoutBursts) {
  open(BalancePolicy::RoundRobin, {5, 1, 1});
  std::vector<size_t> order;
  for (int i = 0; i < 7; ++i) order.push_back(choose());
  EXPECT_EQ(std::count(order.begin(), order.end(), 0u), 5);
  EXPECT_EQ(std::count(order.begin(), order.end(), 1u), 1);
  EXPECT_EQ(std::count(order.begin(), order.end(), 2u), 1);
  EXPECT_EQ(order[0], 0u);
  EXPECT_NE(order[6] == 0 && order[5] == 0 && order[4] == 0 && order[3] == 0, true);
}

TEST_F(BalancerTest, TakesTurnsEvenlyWithEqualWeights) {
  open(BalancePolicy::RoundRobin, {1, 1, 1});
  EXPECT_EQ(spread(9), (Counts{{0, 3}, {1, 3}, {2, 3}}));
}

TEST_F(BalancerTest, DrawsByWeight) {
  open(BalancePolicy::Random, {3, 1});
  const Counts counts = spread(4000);
  EXPECT_NEAR(counts.at(0), 3000, 200);
  EXPECT_NEAR(counts.at(1), 1000, 200);
}

TEST_F(BalancerTest, LeavesOutWhatIsUnhealthyOrEjected) {
  for (const BalancePolicy policy : {BalancePolicy::LeastRequest, BalancePolicy::RoundRobin,
                                     BalancePolicy::Random, BalancePolicy::Hash}) {
    open(policy, {1, 1, 1});
    at(0).setHealthy(false, kNow);
    at(1).eject(kNow + std::chrono::seconds(5));
    EXPECT_EQ(spread(20), (Counts{{2, 20}}));
    at(2).setHealthy(false, kNow);
    EXPECT_EQ(spread(20), (Counts{{1, 20}})) << "better than nothing";
    at(1).setHealthy(false, kNow);
    EXPECT_EQ(choose(), SIZE_MAX);
  }
}

TEST_F(BalancerTest, EndsAnEjectionByTime) {
  open(BalancePolicy::RoundRobin, {1, 1});
  at(0).eject(kNow + std::chrono::seconds(5));
  EXPECT_EQ(spread(10), (Counts{{1, 10}}));
  Counts later;
  for (int i = 0; i < 10; ++i) ++later[choose({.now = kNow + std::chrono::seconds(5)})];
  EXPECT_EQ(later.size(), 2u);
}

TEST_F(BalancerTest, AvoidsAnEndpointOnlyWhileThereIsAnother) {
  open(BalancePolicy::LeastRequest, {1, 1});
  EXPECT_EQ(choose({.avoid = &at(0), .now = kNow}), 1u);
  at(1).setHealthy(false, kNow);
  EXPECT_EQ(choose({.avoid = &at(0), .now = kNow}), 0u);
}

TEST_F(BalancerTest, StartsSlowlyAfterRecovery) {
  const Duration slow_start = std::chrono::seconds(10);
  open(BalancePolicy::Random, {1, 1}, slow_start);
  at(0).setHealthy(false, kNow);
  at(0).setHealthy(true, kNow);
  const auto shareAt = [&](Duration after) {
    int chosen = 0;
    for (int i = 0; i < 4000; ++i) chosen += choose({.now = kNow + after}) == 0;
    return chosen / 4000.0;
  };
  EXPECT_NEAR(shareAt({}), 0.1 / 1.1, 0.03);
  EXPECT_NEAR(shareAt(slow_start / 2), 0.5 / 1.5, 0.04);
  EXPECT_NEAR(shareAt(slow_start), 0.5, 0.04);
}

// ---- Hash ---------------------------------------------------------------------------------------

std::vector<size_t> homes(const EndpointSet& set, Balancer& balancer, size_t keys) {
  std::vector<size_t> out;
  for (size_t key = 0; key < keys; ++key) {
    out.push_back(
        balancer.choose(set, {.key = stableHash("user-" + std::to_string(key)), .now = kNow}));
  }
  return out;
}

TEST_F(BalancerTest, KeepsAKeyAtItsEndpoint) {
  open(BalancePolicy::Hash, {1, 1, 1, 1});
  EXPECT_EQ(homes(*set, *balancer, 200), homes(*set, *balancer, 200));
}

TEST_F(BalancerTest, SpreadsKeysByWeight) {
  open(BalancePolicy::Hash, {1, 1, 2});
  Counts counts;
  for (const size_t home : homes(*set, *balancer, 8000)) ++counts[home];
  EXPECT_NEAR(counts[0], 2000, 400);
  EXPECT_NEAR(counts[1], 2000, 400);
  EXPECT_NEAR(counts[2], 4000, 600);
}

TEST_F(BalancerTest, MovesOnlyTheKeysOfAnEndpointThatIsDown) {
  open(BalancePolicy::Hash, {1, 1, 1, 1});
  const auto before = homes(*set, *balancer, 4000);
  at(2).setHealthy(false, kNow);
  const auto during = homes(*set, *balancer, 4000);
  Counts heirs;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 2) {
      ++heirs[during[i]];
    } else {
      EXPECT_EQ(during[i], before[i]);
    }
  }
  EXPECT_EQ(heirs.size(), 3u) << "the others share its keys";
  at(2).setHealthy(true, kNow);
  EXPECT_EQ(homes(*set, *balancer, 4000), before);
}

TEST_F(BalancerTest, MovesFewKeysWhenAnEndpointIsAdded) {
  open(BalancePolicy::Hash, {1, 1, 1, 1});
  const auto before = homes(*set, *balancer, 5000);
  std::vector<EndpointTarget> targets;
  for (size_t i = 0; i < 5; ++i) targets.push_back(target(i, 1));
  cluster->publish(std::move(targets));
  const auto after = homes(*cluster->endpoints(), *balancer, 5000);
  int moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    ++moved;
    EXPECT_EQ(after[i], 4u) << "keys move to the new one alone";
  }
  EXPECT_NEAR(moved, 1000, 300);
}

TEST_F(BalancerTest, DrawsWhenThereIsNoKey) {
  open(BalancePolicy::Hash, {1, 1});
  EXPECT_EQ(spread(100).size(), 2u);
}

TEST_F(BalancerTest, KeepsTheStateOfEndpointsThatStay) {
  open(BalancePolicy::RoundRobin, {1, 1});
  at(1).setHealthy(false, kNow);
  std::vector<EndpointTarget> targets{target(1, 1), target(2, 1), target(2, 1)};
  cluster->publish(std::move(targets));
  const auto fresh = cluster->endpoints();
  ASSERT_EQ(fresh->endpoints.size(), 2u) << "an address counts once";
  EXPECT_EQ(fresh->endpoints[0], set->endpoints[1]);
  EXPECT_FALSE(fresh->endpoints[0]->healthy());
}

}  // namespace
}  // namespace flamegate::proxy
