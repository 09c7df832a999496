#include "control/profiles/merge.h"

#include <array>

#include <gtest/gtest.h>

#include "control/profiles/builder.h"
#include "control/profiles/limits.h"
#include "control/profiles/pprof.h"
#include "control/profiles/summary.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

// One sample at a time, on thread "main".
Profile partAt(int64_t time, int64_t wall) {
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  builder.setSpan(time, wall);
  builder.comment("part");
  const NodeId node = builder.child(kRootNode, builder.frame(builder.function("f"), 3));
  const std::array labels = {Label{builder.string("endpoint"), builder.string("/old"), 0, 0},
                             Label{builder.string("kept"), 0, 5, 0}};
  builder.addSample({node, builder.thread(builder.string("main")), State::Running,
                     builder.labelSet(labels), time},
                    std::array{wall});
  return std::move(*builder.take());
}

TEST(Merge, PutsTheEventsOfAllPartsInOrder) {
  const Profile late = partAt(2000, 10);
  const Profile early = partAt(1000, 20);
  const auto merged =
      mergeProfiles(std::array{MergePart{&late, "pid 2 / "}, MergePart{&early, "pid 1 / "}}, {});
  ASSERT_TRUE(merged);
  EXPECT_EQ(
      describeSamples(*merged),
      (std::vector<std::string>{
          "1000 pid 1 / main running /f(:0)@3 wall=20nanoseconds [endpoint=/old0] [kept=5]",
          "2000 pid 2 / main running /f(:0)@3 wall=10nanoseconds [endpoint=/old0] [kept=5]"}));
  EXPECT_EQ(merged->start_unix_ns, 1000);
  EXPECT_EQ(merged->duration_ns, 1010);
  EXPECT_EQ(merged->nodes.size(), 2U);
  EXPECT_EQ(merged->comments.size(), 1U);
}

TEST(Merge, SetsLabelsInPlaceOfThoseOfTheSameKey) {
  const Profile part = partAt(1000, 20);
  const MergeOptions options{
      MergeDetail::Events, {{"endpoint", "GET /new"}, {"profile_id", "x1"}}, {"asked: 1 ms"}};
  const auto merged = mergeProfiles(std::array{MergePart{&part, ""}}, options);
  ASSERT_TRUE(merged);
  EXPECT_EQ(describeSamples(*merged),
            (std::vector<std::string>{"1000 main running /f(:0)@3 wall=20nanoseconds "
                                      "[endpoint=GET /new0] [profile_id=x10] [kept=5]"}));
  ASSERT_EQ(merged->comments.size(), 2U);
  EXPECT_EQ(merged->text(merged->comments[0]), "asked: 1 ms");
}

TEST(Merge, PutsTheCanonicalTypesFirstAndFillsGapsWithZero) {
  ProfileBuilder builder;
  builder.valueColumn("alloc", "bytes");
  builder.valueColumn("cpu", "nanoseconds");
  builder.addSample({}, std::array<int64_t, 2>{7, 8});
  const Profile other = *builder.take();
  const Profile part = partAt(1000, 20);
  const auto merged = mergeProfiles(std::array{MergePart{&other, ""}, MergePart{&part, ""}}, {});
  ASSERT_TRUE(merged);
  EXPECT_EQ(
      describeSamples(*merged),
      (std::vector<std::string>{"0    wall=0nanoseconds cpu=8nanoseconds alloc=7bytes",
                                "1000 main running /f(:0)@3 wall=20nanoseconds cpu=0nanoseconds "
                                "alloc=0bytes [endpoint=/old0] [kept=5]"}));
}

TEST(Merge, SumsEqualStacksWhenOnlyStacksCount) {
  const Profile a = partAt(1000, 20);
  const Profile b = partAt(2000, 30);
  const Profile request = requestProfile();
  const std::array parts = {MergePart{&a, ""}, MergePart{&b, ""}, MergePart{&request, ""}};
  const auto merged = mergeProfiles(parts, {MergeDetail::Stacks, {{"campaign", "c1"}}, {}});
  ASSERT_TRUE(merged);
  EXPECT_EQ(
      describeSamples(*merged)[0],
      "0  running /f(:0)@3 samples=0count wall=50nanoseconds cpu=0nanoseconds [campaign=c10]");
  EXPECT_EQ(merged->samples.size(), 6U);
  EXPECT_EQ(sumOf(*merged, 1), 50 + sumOf(request, 1));
}

TEST(Merge, GivesAnEmptyProfileForNoParts) {
  const auto merged = mergeProfiles({}, {});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->samples.size(), 0U);
  EXPECT_TRUE(decodePprof(encodePprof(*merged)));
}

TEST(Merge, RefusesMoreSamplesThanOneProfileMayHave) {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  for (size_t i = 0; i <= kSamplesMax / 2; ++i) builder.addSample({}, std::array<int64_t, 1>{1});
  const Profile half = *builder.take();
  const std::array parts = {MergePart{&half, ""}, MergePart{&half, ""}};
  const auto merged = mergeProfiles(parts, {});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, proxy::ErrorCode::TooLarge);
  EXPECT_TRUE(mergeProfiles(parts, {MergeDetail::Stacks, {}, {}}));
}

}  // namespace
}  // namespace flamegate::control
