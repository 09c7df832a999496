#include "proxy/exchange/traffic_stats.h"

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::shared_ptr<const TrafficLabels> labelsOf(std::initializer_list<const char*> routes) {
  config::Config config;
  for (const char* name : routes) {
    config::Route route;
    route.name = name;
    config.routes.push_back(route);
  }
  config.clusters.emplace_back().name = "app";
  return std::make_shared<const TrafficLabels>(config);
}

TEST(DurationHistogram, CountsUpToEachBoundInclusively) {
  DurationHistogram histogram;
  histogram.add(Duration(0));
  histogram.add(microseconds(500));
  histogram.add(microseconds(501));
  histogram.add(milliseconds(10'000));
  histogram.add(milliseconds(10'001));
  histogram.add(Duration(-5));
  const DurationHistogram::Values values = histogram.values();
  EXPECT_EQ(values.buckets[0], 3u);
  EXPECT_EQ(values.buckets[1], 1u);
  EXPECT_EQ(values.buckets[13], 1u);
  EXPECT_EQ(values.buckets[14], 1u);
  EXPECT_EQ(values.count(), 6u);
  EXPECT_EQ(values.sum_us, 500u + 501u + 10'000'000u + 10'001'000u);
}

TEST(TrafficLabels, NamesRoutesByWhatTheyMatch) {
  config::Config config;
  config::Route route;
  route.match.path.text = "/api/";
  config.routes.push_back(route);
  route.hosts = {{"example.org", true}, {"other.example", false}};
  config.routes.push_back(route);
  route.name = "orders";
  config.routes.push_back(route);
  for (int i = 0; i < 300; ++i) config.routes.push_back(route);
  const TrafficLabels labels(config);
  EXPECT_EQ(labels.routes[0], "/api/");
  EXPECT_EQ(labels.routes[1], "*.example.org/api/");
  EXPECT_EQ(labels.routes[199], "orders");
  EXPECT_EQ(labels.routes[200], "other");
}

TEST(TrafficRegistry, SumsOverWorkersAndRoutesOfOneName) {
  TrafficRegistry registry;
  const auto labels = labelsOf({"a", "b", "a"});
  TrafficStats one(labels, registry);
  TrafficStats two(labels, registry);
  one.noteRoute(0, milliseconds(1));
  two.noteRoute(2, milliseconds(2));
  two.noteRoute(1, milliseconds(4));
  two.noteUpstream(0, milliseconds(3));
  const TrafficRegistry::Totals totals = registry.totals();
  EXPECT_EQ(totals.routes.at("a").count(), 2u);
  EXPECT_EQ(totals.routes.at("a").sum_us, 3000u);
  EXPECT_EQ(totals.routes.at("b").count(), 1u);
  EXPECT_EQ(totals.clusters.at("app").sum_us, 3000u);
}

// A counter that fell would read as a restart.
TEST(TrafficRegistry, KeepsCountsOverAReloadAndForgetsNamesThatAreGone) {
  TrafficRegistry registry;
  auto before = std::make_unique<TrafficStats>(labelsOf({"kept", "gone"}), registry);
  before->noteRoute(0, milliseconds(1));
  before->noteRoute(1, milliseconds(1));
  TrafficStats after(labelsOf({"kept", "new"}), registry);
  after.noteRoute(0, milliseconds(1));
  before.reset();
  const TrafficRegistry::Totals totals = registry.totals();
  EXPECT_EQ(totals.routes.at("kept").count(), 2u);
  EXPECT_EQ(totals.routes.at("new").count(), 0u);
  EXPECT_FALSE(totals.routes.contains("gone"));
}

}  // namespace
}  // namespace flamegate::proxy
