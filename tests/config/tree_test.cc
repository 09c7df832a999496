#include "config/load/tree.h"

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

std::string faultsOfTree(const std::string& text) {
  Faults faults("t");
  const Node root = parseTree(text, faults);
  return linesOf(faults.take());
}

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Tree, KeepsPositionsOfKeysAndValues) {
  Faults faults("t");
  const Node root = parseTree("a:\n  - b: c\n    d: 'e'\n", faults);
  ASSERT_TRUE(faults.empty());
  const Node& map = root.find("a")->value.items.at(0);
  EXPECT_EQ(map.find("b")->at.line, 2);
  EXPECT_EQ(map.find("b")->at.column, 5);
  EXPECT_EQ(map.find("d")->value.text, "e");
  EXPECT_EQ(map.find("d")->value.at.line, 3);
  EXPECT_EQ(map.find("d")->value.at.column, 8);
}

TEST(Tree, LocatesAPathOrWhatEnclosesIt) {
  Faults faults("t");
  const Node root = parseTree("a:\n  - b: c\n", faults);
  EXPECT_TRUE(locate(root, "a[0].b").exact);
  EXPECT_EQ(locate(root, "a[0].b").node->text, "c");
  EXPECT_FALSE(locate(root, "a[0].x.y").exact);
  EXPECT_EQ(locate(root, "a[0].x.y").node->at.line, 2);
  EXPECT_FALSE(locate(root, "a[7]").exact);
  EXPECT_FALSE(locate(root, "[").exact);
  EXPECT_TRUE(locate(root, "").exact);
}

TEST(Tree, IsNestedUpToItsLimit) {
  EXPECT_EQ(faultsOfTree(nested(kDepthMax)), "");
  EXPECT_EQ(faultsOfTree(nested(kDepthMax + 1)), "t:1:33: nested deeper than 32 levels\n");
  EXPECT_NE(faultsOfTree(std::string(100'000, '[')), "");
  EXPECT_NE(faultsOfTree(repeated("- ", 10'000)), "");
  EXPECT_NE(faultsOfTree(std::string(100'000, '{')), "");
}

TEST(Tree, HoldsValuesUpToItsLimit) {
  EXPECT_EQ(faultsOfTree(repeated("- a\n", kNodesMax - 1)), "");
  EXPECT_EQ(faultsOfTree(repeated("- a\n", kNodesMax)), "t:65536:3: more than 65536 values\n");
}

TEST(Tree, CountsWhatAliasesRepeat) {
  const std::string text = "a: &a " + std::string(size_t{1} << 16, 'x') + "\nb: [";
  EXPECT_EQ(faultsOfTree(text + repeated("*a, ", 61) + "]"), "");
  EXPECT_EQ(faultsOfTree(text + repeated("*a, ", 63) + "]"), "t:1:4: more than 4MiB of text\n");
}

TEST(Tree, IsReadFromEveryBeginningOfAFileWithoutHarm) {
  const std::string text =
      "listeners:\n  - &x {address: '127.0.0.1:8080', \"a\\x41\": [1, ~, |\n]}\n"
      "b: >-\n  folded\n  text\nc: *x\n? d\n: e\n...\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    Faults faults("t");
    parseTree(std::string_view(text).substr(0, size), faults);
  }
}

}  // namespace
}  // namespace flamegate::config
