#include "control/profiles/model.h"

#include <array>

#include <gtest/gtest.h>

#include "control/profiles/builder.h"
#include "control/profiles/limits.h"
#include "control/profiles/text.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

TEST(ProfileBuilder, GivesEqualPartsOneNumber) {
  ProfileBuilder builder;
  EXPECT_EQ(builder.string(""), 0U);
  EXPECT_EQ(builder.string("a"), builder.string("a"));
  EXPECT_NE(builder.string("a"), builder.string("b"));
  EXPECT_EQ(builder.function("f", "x.py", 3), builder.function("f", "x.py", 3));
  EXPECT_NE(builder.function("f", "x.py", 3), builder.function("f", "y.py", 3));
  EXPECT_EQ(builder.thread(builder.string("main")), builder.thread(builder.string("main")));
  EXPECT_EQ(builder.thread(0), 0U);
}

TEST(ProfileBuilder, InternsManyValuesAndFindsThemAgain) {
  ProfileBuilder builder;
  std::vector<StringId> ids;
  for (int i = 0; i < 10'000; ++i) ids.push_back(builder.string("name" + std::to_string(i)));
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(builder.string("name" + std::to_string(i)), ids[static_cast<size_t>(i)]);
  }
}

TEST(ProfileBuilder, KeepsParentsBelowTheirChildren) {
  const Profile profile = requestProfile();
  for (size_t i = 1; i < profile.nodes.size(); ++i) EXPECT_LT(profile.nodes[i].parent, i);
}

TEST(ProfileBuilder, CutsTheMiddleOfADeepStackWithAMark) {
  ProfileBuilder builder;
  std::vector<FrameId> frames;
  for (int i = 0; i < 30'000; ++i) {
    frames.push_back(builder.frame(builder.function("f" + std::to_string(i))));
  }
  NodeId node = builder.stack(frames);
  EXPECT_EQ(builder.stack(std::span(frames).first(kDepthMax)) == kRootNode, false);
  const Profile profile = *builder.take();
  std::vector<std::string> names;
  for (; node != kRootNode; node = profile.nodes[node].parent) {
    names.insert(names.begin(), std::string(profile.text(profile.functionOf(node).name)));
  }
  ASSERT_EQ(names.size(), kDepthMax);
  EXPECT_EQ(names.front(), "f0");
  EXPECT_EQ(names[254], "f254");
  EXPECT_EQ(names[255], kTruncatedName);
  EXPECT_EQ(names[256], "f29744");
  EXPECT_EQ(names.back(), "f29999");
  EXPECT_EQ(profile.loss.truncated_stacks, 1U);
}

TEST(ProfileBuilder, CutsLongStringsAtACharacterAndCountsThem) {
  ProfileBuilder builder;
  EXPECT_EQ(builder.text(builder.string(std::string(1024, 'a'))).size(), 1024U);
  EXPECT_EQ(builder.loss().cut_strings, 0U);
  const std::string_view text = builder.text(builder.string("x" + std::string(600, '\xc3') + "é"));
  EXPECT_LE(text.size(), kStringBytesMax);
  EXPECT_TRUE(text.ends_with("…"));
  EXPECT_TRUE(isValidUtf8(text));
  EXPECT_EQ(builder.loss().cut_strings, 1U);
}

TEST(ProfileBuilder, ReplacesBytesThatAreNotUtf8) {
  ProfileBuilder builder;
  EXPECT_EQ(builder.text(builder.string("a\xff"
                                        "b")),
            "a\uFFFD"
            "b");
  EXPECT_EQ(builder.text(builder.string("\xed\xa0\x80")), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(builder.text(builder.string("\xf0\x9f\x94\xa5")), "🔥");
}

TEST(ProfileBuilder, RefusesMoreSamplesThanTheLimit) {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  for (size_t i = 0; i < kSamplesMax; ++i) builder.addSample({}, std::array<int64_t, 1>{1});
  EXPECT_EQ(builder.fault(), "");
  builder.addSample({}, std::array<int64_t, 1>{1});
  const auto profile = builder.take();
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, proxy::ErrorCode::TooLarge);
  EXPECT_EQ(profile.error().detail, "more than 200,000 samples");
}

TEST(ProfileBuilder, FillsNewColumnsWithZeros) {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  builder.addSample({}, std::array<int64_t, 1>{1});
  builder.valueColumn("wall", "nanoseconds");
  builder.addSample({}, std::array<int64_t, 1>{2});
  const Profile profile = *builder.take();
  EXPECT_EQ(profile.samples.values[1], (std::vector<int64_t>{0, 0}));
}

TEST(State, KnowsTheWordsOfOthers) {
  EXPECT_EQ(findState("running"), State::Running);
  EXPECT_EQ(findState("gvl"), State::Gil);
  EXPECT_EQ(findState("RUNNING"), std::nullopt);
  for (const State state : {State::Running, State::Waiting, State::Gil, State::Gc}) {
    EXPECT_EQ(findState(stateName(state)), state);
  }
}

TEST(Saturation, StopsAtTheEndsOfTheRange) {
  EXPECT_EQ(addSaturating(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(addSaturating(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(multiplySaturating(INT64_MAX, -2), INT64_MIN);
  EXPECT_EQ(multiplySaturating(-3, 5), -15);
}

TEST(JsonText, EscapesWhatJsonForbids) {
  std::string out;
  appendJsonString(&out, std::string_view("a\"\\\n\t\0é", 8));
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0009\\u0000é\"");
}

TEST(XmlText, EscapesMarkupAndReplacesForbiddenCharacters) {
  std::string out;
  appendXmlText(&out, "<a href=\"x\">&'\x01");
  EXPECT_EQ(out, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\uFFFD");
}

}  // namespace
}  // namespace flamegate::control
