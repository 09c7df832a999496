#include "proxy/profiling/query.h"

#include <string>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

Verb verbOf(std::string_view query) { return readQuery(query, "pp").verb; }

TEST(Query, FindsThePairInAnyPositionAndSpelling) {
  for (std::string_view query :
       {"pp=async-flamegraph", "a=1&pp=async-flamegraph", "pp=async-flamegraph&a=1",
        "&&pp=async-flamegraph&", "pp=async%2Dflamegraph", "pp=async%2dflamegraph",
        "%70%70=async-flamegraph", "p%70=%61sync-flamegraph",
        "pp=async-flamegraph&pp=async-flamegraph", "pp=async-flamegraph&pp=other",
        "pp=&pp=async-flamegraph", "?=1&pp=async-flamegraph", "x=%zz&pp=async-flamegraph"}) {
    EXPECT_EQ(verbOf(query), Verb::AsyncFlamegraph) << query;
  }
}

TEST(Query, LeavesOtherPairsToTheApplication) {
  for (std::string_view query : {"",
                                 "pp",
                                 "pp=",
                                 "pp=1",
                                 "PP=async-flamegraph",
                                 "pp=Async-Flamegraph",
                                 "pp=async_flamegraph",
                                 "app=async-flamegraph",
                                 "ppp=async-flamegraph",
                                 "p=async-flamegraph",
                                 "pp=async-flamegraphs",
                                 "pp=xasync-flamegraph",
                                 "pp=async-flamegraph ",
                                 "pp=async-flamegraph+",
                                 "pp==async-flamegraph",
                                 "a=1;pp=async-flamegraph",
                                 "pp=async%2flamegraph",
                                 "pp=async-flamegraph%",
                                 "pp=async-flamegraph%4",
                                 "pp%=async-flamegraph",
                                 "pp%3Dasync-flamegraph",
                                 "pp=async%252Dflamegraph",
                                 "pp%20=async-flamegraph",
                                 "+pp=async-flamegraph",
                                 "x=pp=async-flamegraph",
                                 "pp=async-flamegraph=1",
                                 "pp=async-flamegraph?",
                                 "?pp=async-flamegraph",
                                 "pp=async-flamegraph%00"}) {
    EXPECT_EQ(verbOf(query), Verb::None) << query;
  }
}

TEST(Query, KnowsSixValues) {
  EXPECT_EQ(verbOf("pp=flamegraph"), Verb::Flamegraph);
  EXPECT_EQ(verbOf("pp=help"), Verb::Help);
  EXPECT_EQ(verbOf("pp=skip"), Verb::Skip);
  EXPECT_EQ(verbOf("pp=disable"), Verb::Disable);
  EXPECT_EQ(verbOf("pp=enable"), Verb::Enable);
}

TEST(Query, TakesContradictionForNothingExceptSkip) {
  const QueryMarks marks = readQuery("pp=async-flamegraph&pp=flamegraph", "pp");
  EXPECT_TRUE(marks.contradictory);
  EXPECT_EQ(marks.verb, Verb::None);
  EXPECT_TRUE(readQuery("pp=enable&pp=disable", "pp").contradictory);
  EXPECT_TRUE(readQuery("pp=enable&x=1&pp=disable&pp=enable", "pp").contradictory);
  for (std::string_view query :
       {"pp=skip&pp=async-flamegraph", "pp=async-flamegraph&pp=skip", "pp=help&pp=skip&pp=enable",
        "pp=skip&pp=skip", "pp=skip&pp=unknown"}) {
    EXPECT_EQ(verbOf(query), Verb::Skip) << query;
    EXPECT_FALSE(readQuery(query, "pp").contradictory) << query;
  }
  EXPECT_FALSE(readQuery("pp=async-flamegraph&pp=unknown", "pp").contradictory);
}

TEST(Query, UsesTheConfiguredName) {
  EXPECT_EQ(readQuery("__prof=skip", "__prof").verb, Verb::Skip);
  EXPECT_EQ(readQuery("pp=skip", "__prof").verb, Verb::None);
  EXPECT_EQ(readQuery("my+name=skip", "my name").verb, Verb::Skip);
  EXPECT_EQ(readQuery("my%20name=skip", "my name").verb, Verb::Skip);
}

TEST(Query, ReadsOptions) {
  const auto options = readQuery(
                           "pp=async-flamegraph&flamegraph_mode=cpu&flamegraph_sample_rate=2.5&"
                           "flamegraph_ignore_gc=true",
                           "pp")
                           .options;
  EXPECT_EQ(options.mode, agent::Mode::Cpu);
  EXPECT_EQ(options.interval_us, 2500U);
  EXPECT_TRUE(options.ignore_gc);
}

TEST(Query, TakesOtherOptionValuesForTheDefault) {
  for (std::string_view query :
       {"flamegraph_mode=", "flamegraph_mode=both", "flamegraph_mode=WALL",
        "flamegraph_mode=object", "flamegraph_mode=cpu&flamegraph_mode=wall",
        "Flamegraph_mode=cpu"}) {
    EXPECT_FALSE(readQuery(query, "pp").options.mode) << query;
  }
  for (std::string_view value :
       {"", "-1", "+1", "1e3", "0x1", "1,5", ".5", "5.", "1.2.3", "1ms", " 1", "nan", "1%"}) {
    const std::string query = "flamegraph_sample_rate=" + std::string(value);
    EXPECT_FALSE(readQuery(query, "pp").options.interval_us) << query;
  }
  EXPECT_FALSE(
      readQuery("flamegraph_sample_rate=1&flamegraph_sample_rate=2", "pp").options.interval_us);
  for (std::string_view value : {"", "1", "TRUE", "false", "true%"}) {
    EXPECT_FALSE(readQuery("flamegraph_ignore_gc=" + std::string(value), "pp").options.ignore_gc)
        << value;
  }
}

TEST(Query, ClampsTheSampleRate) {
  const std::pair<std::string_view, uint64_t> cases[] = {{"1", 1000},
                                                         {"10", 10000},
                                                         {"0.1", 100},
                                                         {"0.25", 250},
                                                         {"0.0999", 100},
                                                         {"0", 100},
                                                         {"0.0", 100},
                                                         {"1000", 1000000},
                                                         {"1001", 1000000},
                                                         {"25", 25000},
                                                         {"007", 7000},
                                                         {"1.0005", 1000},
                                                         {"999.999", 999999},
                                                         {"99999999999999999999999999", 1000000},
                                                         {"0.1000000000000000000000001", 100},
                                                         {"%31", 1000}};
  for (const auto& [value, us] : cases) {
    EXPECT_EQ(readQuery("flamegraph_sample_rate=" + std::string(value), "pp").options.interval_us,
              us)
        << value;
  }
}

std::optional<std::string> stripped(std::string_view target) {
  return dropPairs(target, [](std::string_view name, std::string_view value) {
    return isTriggerPair(name, value, "pp") || isOptionName(name);
  });
}

TEST(Query, StripsPairsAndNothingElse) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/a?pp=async-flamegraph", "/a"},
      {"/a?x=1&pp=async-flamegraph", "/a?x=1"},
      {"/a?pp=async-flamegraph&x=1", "/a?x=1"},
      {"/a?x=1&pp=skip&y=%zz", "/a?x=1&y=%zz"},
      {"/a?pp=skip&pp=other&pp=help", "/a?pp=other"},
      {"/a?&pp=skip&", "/a?&"},
      {"/a?&&pp=skip&&", "/a?&&&"},
      {"/a?pp=skip&", "/a?"},
      {"/a?x=a+b%20c&&%70p=skip&y=1;z", "/a?x=a+b%20c&&y=1;z"},
      {"/a?x?y&pp=skip", "/a?x?y"},
      {"/a?pp=skip&flamegraph_mode=cpu&flamegraph_sample_rate=x&flamegraph_foo", "/a"},
      {"/a?flamegraph%5Fmode=cpu&flamegraph=1&pp=skip", "/a?flamegraph=1"},
  };
  for (const auto& [target, expected] : cases) EXPECT_EQ(stripped(target), expected) << target;
  for (std::string_view target : {"/a", "/a?", "/a?x=1", "/a?pp=1", "/pp=skip", "*", ""}) {
    EXPECT_EQ(stripped(target), std::nullopt) << target;
  }
}

TEST(Query, DecodesOnce) {
  EXPECT_EQ(decodeQueryText("a%2Bb+c%20%25%zz"), std::nullopt);
  EXPECT_EQ(decodeQueryText("a%2Bb+c%2520"), "a+b c%20");
  EXPECT_EQ(decodeQueryText("%"), std::nullopt);
  EXPECT_EQ(decodeQueryText("%4"), std::nullopt);
  EXPECT_EQ(decodeQueryText(""), "");
  EXPECT_TRUE(decodesTo("%41+", "A "));
  EXPECT_FALSE(decodesTo("A%", "A"));
  EXPECT_FALSE(decodesTo("AB", "A"));
  EXPECT_FALSE(decodesTo("", "A"));
}

}  // namespace
}  // namespace flamegate::proxy
