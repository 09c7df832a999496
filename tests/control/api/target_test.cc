#include "control/api/target.h"

#include <gtest/gtest.h>

namespace flamegate::control {
namespace {

using Segments = std::vector<std::string>;

TEST(Target, SplitsPathAndQuery) {
  const auto target = parseTarget("/api/v1/x?a=1&b=&c&=d&a=2");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, (Segments{"api", "v1", "x"}));
  ASSERT_EQ(target->query.size(), 5U);
  EXPECT_EQ(target->query[0].value, "1");
  EXPECT_EQ(target->query[1].value, "");
  EXPECT_EQ(target->query[2].name, "c");
  EXPECT_EQ(target->query[3].name, "");
  EXPECT_EQ(target->query[4].value, "2");
}

TEST(Target, KeepsEmptySegments) {
  EXPECT_EQ(parseTarget("/")->path, (Segments{""}));
  EXPECT_EQ(parseTarget("/a/")->path, (Segments{"a", ""}));
  EXPECT_EQ(parseTarget("//a")->path, (Segments{"", "a"}));
  EXPECT_TRUE(parseTarget("/a?")->query.empty());
}

TEST(Target, DecodesOnceAfterTheSplit) {
  EXPECT_EQ(parseTarget("/a%2Fb/c%252e")->path, (Segments{"a/b", "c%2e"}));
  const auto target = parseTarget("/x?q=a+b%2Bc%26d&n%3D=v");
  EXPECT_EQ(target->query[0].value, "a b+c&d");
  EXPECT_EQ(target->query[1].name, "n=");
  EXPECT_EQ(parseTarget("/a+b")->path, (Segments{"a+b"}));
}

TEST(Target, RefusesWhatCouldMeanSomethingElse) {
  for (const char* target : {"", "a", "/%", "/%2", "/%zz", "/a/../b", "/.", "/%2e%2e/a", "/a%00b",
                             "/a%0d", "/a?x=%", "/a?x=%g0", "*", "http://h/a"}) {
    EXPECT_FALSE(parseTarget(target)) << target;
  }
}

TEST(Target, EncodingRoundTrips) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(percentDecode(percentEncode(all), false), all);
  EXPECT_EQ(percentEncode("a-b_c.d~e/f"), "a-b_c.d~e%2Ff");
}

}  // namespace
}  // namespace flamegate::control
