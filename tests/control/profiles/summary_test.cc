#include "control/profiles/summary.h"

#include <gtest/gtest.h>

#include "control/profiles/builder.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

// "name self total" for each.
std::vector<std::string> hottest(const Profile& profile, HotOrder order, size_t count) {
  std::vector<std::string> lines;
  for (const HotFunction& hot : hottestFunctions(profile, shownColumn(profile), order, count)) {
    lines.push_back(std::string(profile.text(profile.functions[hot.function].name)) + " " +
                    std::to_string(hot.self) + " " + std::to_string(hot.total));
  }
  return lines;
}

TEST(Summary, FindsTheHottestFunctions) {
  const Profile profile = requestProfile();
  EXPECT_EQ(hottest(profile, HotOrder::Self, 2),
            (std::vector<std::string>{"query 4000000 4000000", "render 4000000 6000000"}));
  EXPECT_EQ(hottest(profile, HotOrder::Total, 2),
            (std::vector<std::string>{"handler 0 10000000", "render 4000000 6000000"}));
  EXPECT_EQ(hottest(profile, HotOrder::Self, 100).size(), 4U);
  EXPECT_EQ(hottest(profile, HotOrder::Self, 0).size(), 0U);
}

TEST(Summary, CountsRecursionOnce) {
  const Profile profile = stacksProfile({{{"f", "g", "f", "f"}, 5}, {{"f"}, 2}, {{"g", "f"}, 1}});
  EXPECT_EQ(hottest(profile, HotOrder::Total, 9), (std::vector<std::string>{"f 8 8", "g 0 6"}));
}

TEST(Summary, SumsNanosecondsByState) {
  const auto totals = stateTotals(requestProfile());
  EXPECT_EQ(totals, (std::array<int64_t, 4>{5'000'000, 4'000'000, 1'000'000, 1'000'000}));
}

TEST(Summary, ShowsWallThenTheWishThenTheLastType) {
  const Profile request = requestProfile();
  EXPECT_EQ(shownColumn(request), findColumn(request, "wall"));
  ProfileBuilder builder;
  builder.valueColumn("alloc_objects", "count");
  builder.valueColumn("alloc_space", "bytes");
  builder.valueColumn("inuse_space", "bytes");
  ProfileBuilder wishing = builder;
  EXPECT_EQ(shownColumn(*builder.take()), 2U);
  wishing.setDefaultType("alloc_space");
  EXPECT_EQ(shownColumn(*wishing.take()), 1U);
  EXPECT_EQ(shownColumn(Profile{}), size_t{kNoIndex});
}

TEST(Summary, ReadsCountsAsTimeByThePeriod) {
  const Profile counts = stacksProfile({{{"f"}, 3}});
  EXPECT_EQ(timeWeight(counts).of(counts.samples, 0), 3);
  Profile timed = counts;
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  builder.addSample({}, std::array<int64_t, 1>{3});
  builder.setPeriod("cpu", "milliseconds", 10);
  timed = *builder.take();
  EXPECT_EQ(timeWeight(timed).of(timed.samples, 0), 30'000'000);
}

TEST(Summary, CountsSamplesByTheirColumnOrByRows) {
  EXPECT_EQ(sampleCount(requestProfile()), 11);
  EXPECT_EQ(sampleCount(stacksProfile({{{"f"}, 3}, {{"g"}, 4}})), 7);
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  builder.addSample({}, {});
  EXPECT_EQ(sampleCount(*builder.take()), 1);
}

TEST(Summary, SumsStopAtTheEndOfTheRange) {
  const Profile profile = stacksProfile({{{"f"}, INT64_MAX}, {{"g"}, INT64_MAX}});
  EXPECT_EQ(sumOf(profile, 0), INT64_MAX);
  EXPECT_EQ(hottest(profile, HotOrder::Self, 1).size(), 1U);
}

TEST(Summary, DescribesWhatWasLost) {
  EXPECT_EQ(describeLoss({}), "");
  EXPECT_EQ(describeLoss({2, 0, 3, 7}), "truncated_stacks=2 bad_lines=3 (first: line 7)");
}

}  // namespace
}  // namespace flamegate::control
