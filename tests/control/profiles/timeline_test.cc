#include "control/profiles/timeline.h"

#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/profiles/builder.h"
#include "control/profiles/slices.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using nlohmann::json;

struct Event {
  int64_t time;
  int64_t wall;
};

// All on one thread, with f, g, h… as stacks.
Profile eventsProfile(int64_t start, std::initializer_list<Event> events) {
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  builder.setSpan(start, 0);
  for (const Event& event : events) {
    builder.addSample({.timestamp_ns = event.time}, std::array{event.wall});
  }
  return std::move(*builder.take());
}

// "begin+duration" for each slice of the first thread.
std::vector<std::string> slicesOf(const Profile& profile) {
  std::vector<std::string> out;
  const TimeAxis axis = timeAxis(profile);
  for (const Slice& slice : axis.threads[0].slices) {
    out.push_back(std::to_string(slice.begin_ns) + "+" + std::to_string(slice.duration_ns));
  }
  return out;
}

TEST(TimeAxis, CountsFromTheProfilesStart) {
  EXPECT_EQ(slicesOf(eventsProfile(1000, {{1010, 5}, {1020, 5}})),
            (std::vector<std::string>{"10+5", "20+5"}));
}

TEST(TimeAxis, SortsAndClampsSamplesThatOverlap) {
  EXPECT_EQ(slicesOf(eventsProfile(1000, {{1020, 5}, {1010, 15}, {1022, -4}})),
            (std::vector<std::string>{"10+10", "20+2", "22+0"}));
}

TEST(TimeAxis, LaysSamplesWithoutTimesEndToEnd) {
  EXPECT_EQ(slicesOf(eventsProfile(0, {{0, 5}, {0, 7}, {0, 1}})),
            (std::vector<std::string>{"0+5", "5+7", "12+1"}));
}

TEST(TimeAxis, BeginsAtTheFirstSampleWhenTheStartCannotBeMeant) {
  constexpr int64_t kUnix = 1'700'000'000'000'000'000;
  EXPECT_EQ(slicesOf(eventsProfile(kUnix, {{5000, 10}, {5010, 10}})),
            (std::vector<std::string>{"0+10", "10+10"}));
  EXPECT_EQ(timeAxis(eventsProfile(5000, {{kUnix, 10}})).start_unix_ns, kUnix);
}

TEST(TimeAxis, StaysInRangeForImpossibleTimes) {
  const Profile profile =
      eventsProfile(1, {{1, INT64_MAX}, {INT64_MAX, INT64_MAX}, {0, INT64_MAX}});
  EXPECT_GT(timeAxis(profile).duration_ns, 0);
}

TEST(Timeline, GivesColumnsForEachThread) {
  const json timeline = json::parse(timelineJson(requestProfile()));
  EXPECT_EQ(timeline["start_unix_ns"], "1700000000000000000");
  EXPECT_EQ(timeline["duration_ns"], 10'000'000);
  EXPECT_EQ(timeline["states"], json({"running", "waiting", "gil", "gc"}));
  ASSERT_EQ(timeline["threads"].size(), 2U);
  const json& main = timeline["threads"][0];
  EXPECT_EQ(main["name"], "main");
  EXPECT_EQ(main["t_ns"], json({0, 1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6}));
  EXPECT_EQ(main["weight_ns"], json(std::vector<int64_t>(10, 1'000'000)));
  EXPECT_EQ(main["cpu_ns"], json({0, 0, 0, 0, 9e5, 9e5, 9e5, 1e6, 1e6, 0}));
  EXPECT_EQ(main["state"], json({1, 1, 1, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(timeline["threads"][1]["name"], "worker");
  EXPECT_EQ(timeline["threads"][1]["t_ns"], json({6e6}));
  EXPECT_EQ(timeline["threads"][1]["state"], json({3}));

  // Each stack leads to the right function and up to the root.
  const json& stacks = timeline["stacks"];
  const auto name = [&](size_t entry) {
    const size_t function = stacks["function"][entry];
    return timeline["strings"][timeline["functions"]["name"][function].get<size_t>()]
        .get<std::string>();
  };
  const size_t escape = main["stack"][7];
  EXPECT_EQ(name(escape), "escape");
  const size_t render = stacks["parent"][escape];
  EXPECT_EQ(name(render), "render");
  EXPECT_EQ(main["stack"][9], render);
  EXPECT_EQ(stacks["parent"][0], -1);
}

TEST(Timeline, IsValidWithoutSamples) {
  const json timeline = json::parse(timelineJson(Profile{}));
  EXPECT_EQ(timeline["threads"], json::array());
  EXPECT_EQ(timeline["start_unix_ns"], "0");
}

}  // namespace
}  // namespace flamegate::control
