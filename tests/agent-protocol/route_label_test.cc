#include "agent-protocol/wire/route_label.h"

#include <gtest/gtest.h>

namespace flamegate::agent {
namespace {

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
}  // namespace flamegate::agent
