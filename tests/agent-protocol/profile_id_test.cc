#include "agent-protocol/wire/profile_id.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace flamegate::agent {
namespace {

TEST(ProfileId, HoldsTimeAndChance) {
  const ProfileId id = ProfileId::create(1760000000000, {0, 35});
  EXPECT_EQ(id.text(), "mgj6k3cw00000000000z");
  EXPECT_EQ(id.unixMillis(), 1760000000000);
}

TEST(ProfileId, SortsByTime) {
  EXPECT_LT(ProfileId::create(1, {~0ULL, ~0ULL}), ProfileId::create(2, {0, 0}));
  EXPECT_LT(ProfileId::create(35, {0, 0}), ProfileId::create(36, {0, 0}));
}

TEST(ProfileId, StaysInItsFormWhateverTheClockSays) {
  for (int64_t ms : {int64_t{-1}, int64_t{0}, INT64_MAX, INT64_MIN}) {
    const ProfileId id = ProfileId::create(ms, {~0ULL, ~0ULL});
    EXPECT_EQ(ProfileId::parse(id.text()), id);
  }
}

TEST(ProfileId, IssuesDifferentOnes) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.emplace(ProfileId::issue(1760000000000).text());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(ProfileId, KnowsThatItIsNone) {
  EXPECT_TRUE(ProfileId().none());
  EXPECT_FALSE(ProfileId::issue(1).none());
}

}  // namespace
}  // namespace flamegate::agent
