#include "config/load/variables.h"

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

// The text with its variables put in, or the fault.
std::string expanded(const std::string& text) {
  Node node;
  node.kind = Node::Kind::Scalar;
  node.at = {3, 4};
  node.text = text;
  Faults faults("t");
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "SET") return "value";
    if (name == "EMPTY") return "";
    if (name == "NESTED") return "${SET}";
    if (name == "LONG") return std::string(kTextBytesMax, 'x');
    return std::nullopt;
  };
  expandVariables(node, environment, faults);
  return faults.empty() ? node.text : toText(faults.take().front());
}

TEST(Variables, ArePutIntoValues) {
  EXPECT_EQ(expanded("${SET}"), "value");
  EXPECT_EQ(expanded("a${SET}b${SET}c"), "avaluebvaluec");
  EXPECT_EQ(expanded("${EMPTY}"), "");
  EXPECT_EQ(expanded("$SET $ {SET} }{"), "$SET $ {SET} }{");
  EXPECT_EQ(expanded("$2b$10$x"), "$2b$10$x");
}

TEST(Variables, MayHaveADefault) {
  EXPECT_EQ(expanded("${UNSET:-default}"), "default");
  EXPECT_EQ(expanded("${EMPTY:-default}"), "default");
  EXPECT_EQ(expanded("${SET:-default}"), "value");
  EXPECT_EQ(expanded("${UNSET:-}"), "");
  EXPECT_EQ(expanded("${UNSET:-a:-b}"), "a:-b");
}

TEST(Variables, AreNotExpandedTwice) { EXPECT_EQ(expanded("${NESTED}"), "${SET}"); }

TEST(Variables, AreLeftAloneBehindASecondDollar) {
  EXPECT_EQ(expanded("$${SET}"), "${SET}");
  EXPECT_EQ(expanded("$${SET} ${SET}"), "${SET} value");
}

TEST(Variables, ThatAreWrongAreReportedWhereTheyStand) {
  EXPECT_EQ(expanded("${UNSET}"), "t:3:4: the environment variable UNSET is not set");
  for (const char* text : {"${", "${SET", "${}", "${1A}", "${A B}", "${A-B}", "${:-x}"}) {
    EXPECT_EQ(expanded(text).rfind("t:3:4: `${`", 0), 0U) << text;
  }
}

TEST(Variables, StopAtTheLimitOfText) {
  EXPECT_EQ(expanded("${LONG}").size(), kTextBytesMax);
  EXPECT_EQ(expanded("${LONG}${LONG}"), "t:3:4: too long after its variables are put in");
}

TEST(Variables, AddNoKeysToTheFile) {
  Faults faults("t");
  Node root = parseTree("a: ${X}\n", faults);
  expandVariables(
      root, [](const std::string&) { return "{b: c}"; }, faults);
  EXPECT_EQ(root.find("a")->value.kind, Node::Kind::Scalar);
  EXPECT_EQ(root.find("a")->value.text, "{b: c}");
}

}  // namespace
}  // namespace flamegate::config
