#include "control/api/target.h"

#include <gtest/gtest.h>

#include "control/route_label.h"

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

TEST(RouteLabel, FoldsWhatLooksLikeAnId) {
  EXPECT_EQ(foldIds("/users/42/edit"), "/users/:id/edit");
  EXPECT_EQ(foldIds("/o/3f2504e0-4f89-11d3-9a0c-0305e82c3301"), "/o/:id");
  EXPECT_EQ(foldIds("/c/deadbee5"), "/c/:id");
  EXPECT_EQ(foldIds("/c/deadbeef"), "/c/deadbeef") << "a word without a digit";
  EXPECT_EQ(foldIds("/v2/items"), "/v2/items");
  EXPECT_EQ(foldIds("/s/abc123def456ghi789jkl"), "/s/:id");
  EXPECT_EQ(foldIds("/"), "/");
  EXPECT_EQ(foldIds(""), "");
}

TEST(RouteLabel, PrefersTheConfiguredName) {
  EXPECT_EQ(routeLabel("Users", "GET", "/u/<id>", "/u/1"), "Users");
  EXPECT_EQ(routeLabel("", "GET", "/u/<id>", "/u/1"), "GET /u/<id>");
  EXPECT_EQ(routeLabel("", "GET", "", "/u/1?a=2"), "GET /u/:id");
}

}  // namespace
}  // namespace flamegate::control
