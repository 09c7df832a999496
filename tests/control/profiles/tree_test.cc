#include "control/profiles/tree.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/profiles/builder.h"
#include "control/profiles/summary.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using nlohmann::json;

// "parent function line self total samples" for each node.
std::vector<std::string> nodesOf(const json& tree) {
  std::vector<std::string> lines;
  const json& nodes = tree["nodes"];
  for (size_t i = 0; i < nodes["parent"].size(); ++i) {
    const int function = nodes["function"][i];
    std::string name = function == -1 ? "(root)" : "(pruned)";
    if (function >= 0) name = tree["strings"][tree["functions"]["name"][function].get<size_t>()];
    lines.push_back(nodes["parent"][i].dump() + " " + name);
    for (const char* column : {"line", "self", "total", "samples"}) {
      lines.back() += " " + nodes[column][i].dump();
    }
  }
  return lines;
}

void expectOrdered(const json& tree) {
  const json& nodes = tree["nodes"];
  std::vector<int64_t> last(nodes["parent"].size(), INT64_MAX);
  std::vector<int64_t> below(nodes["parent"].size(), 0);
  for (size_t i = 1; i < nodes["parent"].size(); ++i) {
    const size_t parent = nodes["parent"][i];
    const int64_t total = nodes["total"][i];
    ASSERT_LT(parent, i);
    ASSERT_LE(total, last[parent]);
    last[parent] = total;
    below[parent] += total;
  }
  for (size_t i = 0; i < below.size(); ++i) {
    EXPECT_EQ(nodes["total"][i], below[i] + nodes["self"][i].get<int64_t>());
  }
}

TEST(Tree, MergesCallsByFunction) {
  const json tree = json::parse(treeJson(requestProfile(), {}));
  EXPECT_EQ(nodesOf(tree), (std::vector<std::string>{
                               "-1 (root) 0 0 11000000 11", "0 handler 12 0 10000000 10",
                               "1 render 7 4000000 6000000 6", "2 escape 3 2000000 2000000 2",
                               "1 query 31 4000000 4000000 4", "0 collect 2 1000000 1000000 1"}));
  expectOrdered(tree);
  EXPECT_EQ(tree["types"], json({"samples", "wall", "cpu"}));
  EXPECT_EQ(tree["units"], json({"count", "nanoseconds", "nanoseconds"}));
  EXPECT_EQ(tree["value"], "wall");
  EXPECT_EQ(tree["total"], 11'000'000);
  EXPECT_EQ(tree["samples"], 11);
  EXPECT_EQ(tree["pruned"], json({{"nodes", 0}, {"value", 0}}));
  EXPECT_EQ(
      tree["states"],
      json(
          {{"running", 5'000'000}, {"waiting", 4'000'000}, {"gil", 1'000'000}, {"gc", 1'000'000}}));
}

TEST(Tree, KeepsLinesApartWhenAsked) {
  const json tree = json::parse(treeJson(requestProfile(), {.granularity = Granularity::Lines}));
  EXPECT_EQ(nodesOf(tree), (std::vector<std::string>{
                               "-1 (root) 0 0 11000000 11", "0 handler 12 0 6000000 6",
                               "1 render 7 4000000 4000000 4", "1 render 8 0 2000000 2",
                               "3 escape 3 2000000 2000000 2", "0 handler 10 0 4000000 4",
                               "5 query 31 4000000 4000000 4", "0 collect 2 1000000 1000000 1"}));
}

TEST(Tree, ShowsTheValueThatIsAskedFor) {
  const json cpu = json::parse(treeJson(requestProfile(), {.value = "cpu"}));
  EXPECT_EQ(cpu["value"], "cpu");
  EXPECT_EQ(cpu["total"], 5'700'000);
  EXPECT_EQ(json::parse(treeJson(requestProfile(), {.value = "unheard-of"}))["value"], "wall");
}

TEST(Tree, IsValidWithoutSamplesAndWithoutTypes) {
  const json tree = json::parse(treeJson(Profile{}, {}));
  EXPECT_EQ(nodesOf(tree), (std::vector<std::string>{"-1 (root) 0 0 0 0"}));
  EXPECT_EQ(tree["value"], "");
  EXPECT_EQ(tree["types"], json::array());
}

TEST(Tree, FoldsWhatDoesNotFitBelowItsParent) {
  const json tree = json::parse(treeJson(requestProfile(), {.nodes_max = 5}));
  EXPECT_EQ(nodesOf(tree),
            (std::vector<std::string>{"-1 (root) 0 0 11000000 11", "0 handler 12 0 10000000 10",
                                      "1 (pruned) 0 10000000 10000000 10",
                                      "0 collect 2 1000000 1000000 1"}));
  EXPECT_EQ(tree["pruned"], json({{"nodes", 3}, {"value", 10'000'000}}));
  EXPECT_EQ(json::parse(treeJson(requestProfile(), {.nodes_max = 6}))["pruned"]["nodes"], 0);
}

TEST(Tree, NeverHasMoreNodesThanAskedAndKeepsEveryTotal) {
  std::vector<std::pair<std::vector<std::string>, int64_t>> stacks;
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  uint32_t random = 7;
  for (int i = 0; i < 300; ++i) {
    std::vector<FrameId> frames;
    for (int depth = 0; depth < 6; ++depth) {
      random = random * 1664525 + 1013904223;
      frames.push_back(builder.frame(builder.function("f" + std::to_string(random >> 30))));
    }
    builder.addSample({.node = builder.stack(frames)},
                      std::array<int64_t, 1>{int64_t{random >> 24}});
  }
  const Profile profile = *builder.take();
  const int64_t total = sumOf(profile, 0);
  for (const size_t nodes_max : {0, 2, 3, 4, 5, 10, 50, 100, 1000, 100000}) {
    const json tree = json::parse(treeJson(profile, {.nodes_max = nodes_max}));
    const size_t nodes = tree["nodes"]["parent"].size();
    EXPECT_LE(nodes, std::max<size_t>(nodes_max, 2));
    EXPECT_EQ(tree["nodes"]["total"][0], total);
    expectOrdered(tree);
    const size_t pruned = tree["pruned"]["nodes"];
    EXPECT_EQ(pruned == 0, nodes_max >= 1000) << nodes_max << " " << pruned;
  }
}

TEST(Tree, SurvivesNegativeValues) {
  const json tree = json::parse(treeJson(
      stacksProfile({{{"a", "b"}, -5}, {{"a", "c"}, 3}, {{"d"}, INT64_MIN}}), {.nodes_max = 3}));
  EXPECT_LE(tree["nodes"]["parent"].size(), 3U);
}

}  // namespace
}  // namespace flamegate::control
