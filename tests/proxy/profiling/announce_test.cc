#include "proxy/profiling/announce.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using Values = std::vector<std::string>;

const agent::ProfileId kId = *agent::ProfileId::parse("mgj6k3cw0abcdefghij4");

class AnnounceTest : public testing::Test {
 protected:
  void announceTo(TestHead& head, const Announcement& announcement) {
    announce(head.response, announcement,
             AnnounceContext{headers_, "/__flamegate", "https://shop.example.com", from_origin_,
                             preflight_},
             arena_);
  }
  void announceId(TestHead& head) { announceTo(head, {kId, std::nullopt, false}); }

  config::ProfileHeaders headers_;
  bool from_origin_ = false;
  bool preflight_ = false;
  Arena arena_;
};

TEST_F(AnnounceTest, AnIdComesWithItsLinks) {
  TestHead head;
  announceId(head);
  const FieldList& fields = head.response.fields;
  EXPECT_EQ(valuesOf(fields, "profile-id"), Values{"mgj6k3cw0abcdefghij4"});
  EXPECT_EQ(valuesOf(fields, "profile-link"),
            Values{"https://shop.example.com/__flamegate/p/mgj6k3cw0abcdefghij4"});
  EXPECT_EQ(valuesOf(fields, "server-timing"), Values{"profile;desc=\"mgj6k3cw0abcdefghij4\""});
  EXPECT_EQ(valuesOf(fields, "x-miniprofiler-ids"), Values{"mgj6k3cw0abcdefghij4"});
  EXPECT_EQ(valuesOf(fields, "x-miniprofiler-flamegraph-path"),
            Values{"/__flamegate/flamegraph?id=mgj6k3cw0abcdefghij4"});
  EXPECT_EQ(valuesOf(fields, "cache-control"), Values{"private, no-store"});
  EXPECT_TRUE(valuesOf(fields, "profile-skipped").empty());
}

TEST_F(AnnounceTest, AReasonComesAlone) {
  TestHead head;
  announceTo(head, {std::nullopt, SkipReason::NoAgent, false});
  EXPECT_EQ(valuesOf(head.response.fields, "profile-skipped"), Values{"no-agent"});
  EXPECT_EQ(valuesOf(head.response.fields, "cache-control"), Values{"private, no-store"});
  EXPECT_EQ(head.response.fields.size(), 2U);
}

TEST_F(AnnounceTest, NothingTouchesNothing) {
  from_origin_ = true;
  TestHead head("/", {{"Cache-Control", "public"}, {"Access-Control-Allow-Origin", "*"}});
  announceTo(head, {});
  EXPECT_EQ(head.response.fields.size(), 2U);
  EXPECT_FALSE(head.response.fields[0].removed());
}

TEST_F(AnnounceTest, IsDiscreetToThoseWhoDidNotAsk) {
  TestHead head("/", {{"X-MiniProfiler-Ids", "own"}});
  announceTo(head, {kId, std::nullopt, true});
  const FieldList& fields = head.response.fields;
  EXPECT_EQ(valuesOf(fields, "profile-id").size(), 1U);
  EXPECT_EQ(valuesOf(fields, "server-timing").size(), 1U);
  EXPECT_TRUE(valuesOf(fields, "profile-link").empty());
  EXPECT_EQ(valuesOf(fields, "x-miniprofiler-ids"), Values{"own"});
  EXPECT_EQ(valuesOf(fields, "cache-control"), Values{"private, no-store"});
}

TEST_F(AnnounceTest, FamiliesOfFieldsCanBeSwitchedOff) {
  headers_ = {.native = false, .miniprofiler = true, .server_timing = false};
  TestHead head;
  announceId(head);
  EXPECT_TRUE(valuesOf(head.response.fields, "profile-id").empty());
  EXPECT_TRUE(valuesOf(head.response.fields, "server-timing").empty());
  EXPECT_EQ(valuesOf(head.response.fields, "x-miniprofiler-ids").size(), 1U);
  TestHead skipped;
  announceTo(skipped, {std::nullopt, SkipReason::Busy, false});
  EXPECT_TRUE(valuesOf(skipped.response.fields, "profile-skipped").empty());
}

TEST_F(AnnounceTest, ApplicationsIdsFollowOurs) {
  TestHead head("/",
                {{"X-MiniProfiler-Ids", "a, b"},
                 {"x-miniprofiler-ids", "c,mgj6k3cw0abcdefghij4,d e,[x]"},
                 {"X-MiniProfiler-Flamegraph-Path", "/mini-profiler-resources/flamegraph?id=a"}});
  announceId(head);
  EXPECT_EQ(valuesOf(head.response.fields, "x-miniprofiler-ids"),
            Values{"mgj6k3cw0abcdefghij4,a,b,c"});
  EXPECT_EQ(valuesOf(head.response.fields, "x-miniprofiler-flamegraph-path"),
            Values{"/__flamegate/flamegraph?id=mgj6k3cw0abcdefghij4"});
}

TEST_F(AnnounceTest, TheListOfIdsIsBounded) {
  std::string many, long_ones;
  for (int i = 0; i < 500; ++i) {
    many += "id" + std::to_string(i) + ",";
    long_ones += std::string(60, 'x') + std::to_string(i) + ",";
  }
  TestHead head("/", {{"X-MiniProfiler-Ids", many}});
  announceId(head);
  const std::string list = valuesOf(head.response.fields, "x-miniprofiler-ids")[0];
  EXPECT_EQ(std::count(list.begin(), list.end(), ',') + 1, 20);
  EXPECT_TRUE(list.starts_with("mgj6k3cw0abcdefghij4,id0,"));
  TestHead wide("/", {{"X-MiniProfiler-Ids", long_ones}});
  announceId(wide);
  EXPECT_LT(valuesOf(wide.response.fields, "x-miniprofiler-ids")[0].size(), 1024U);
}

TEST_F(AnnounceTest, ReplacesNamesakesOfTheApplication) {
  TestHead head("/",
                {{"profile-id", "77"}, {"Profile-Link", "/me"}, {"Server-Timing", "db;dur=1"}});
  announceId(head);
  EXPECT_EQ(valuesOf(head.response.fields, "profile-id"), Values{"mgj6k3cw0abcdefghij4"});
  EXPECT_EQ(valuesOf(head.response.fields, "profile-link").size(), 1U);
  EXPECT_EQ(valuesOf(head.response.fields, "server-timing").size(), 2U)
      << "an own line beside the application's";
}

TEST_F(AnnounceTest, ForbidsAllCaching) {
  TestHead head("/", {{"Cache-Control", "public, max-age=600"},
                      {"cache-control", "s-maxage=5"},
                      {"Expires", "0"},
                      {"Pragma", "x"},
                      {"Surrogate-Control", "max-age=1"},
                      {"CDN-Cache-Control", "max-age=1"},
                      {"Cloudflare-CDN-Cache-Control", "max-age=1"},
                      {"X-Accel-Expires", "60"},
                      {"Edge-Control", "x"},
                      {"ETag", "\"v1\""},
                      {"Last-Modified", "x"},
                      {"Accept-Ranges", "bytes"},
                      {"Vary", "Accept"}});
  announceId(head);
  const FieldList& fields = head.response.fields;
  EXPECT_EQ(valuesOf(fields, "cache-control"), Values{"private, no-store"});
  for (const char* name : {"expires", "pragma", "surrogate-control", "cdn-cache-control",
                           "cloudflare-cdn-cache-control", "x-accel-expires", "edge-control"}) {
    EXPECT_TRUE(valuesOf(fields, name).empty()) << name;
  }
  for (const char* name : {"etag", "last-modified", "accept-ranges", "vary"}) {
    EXPECT_EQ(valuesOf(fields, name).size(), 1U) << name;
  }
}

TEST_F(AnnounceTest, ExposesItsNamesAcrossOrigins) {
  const std::string names =
      "Profile-Id, Profile-Link, X-MiniProfiler-Ids, X-MiniProfiler-Flamegraph-Path";
  const auto exposed = [this](Lines lines) {
    lines.insert(lines.begin(), {"Access-Control-Allow-Origin", "https://app"});
    TestHead head("/", lines);
    announceId(head);
    return valuesOf(head.response.fields, "access-control-expose-headers");
  };
  EXPECT_TRUE(exposed({}).empty()) << "no Origin in the request";
  from_origin_ = true;
  EXPECT_EQ(exposed({}), Values{names});
  EXPECT_EQ(exposed({{"Access-Control-Expose-Headers", "X-Total"}}), Values{"X-Total, " + names});
  EXPECT_EQ(
      exposed({{"Access-Control-Expose-Headers", "A"}, {"Access-Control-Expose-Headers", "B"}}),
      (Values{"A", "B, " + names}));
  EXPECT_EQ(exposed({{"Access-Control-Expose-Headers", ""}}), Values{names});
  EXPECT_EQ(exposed({{"Access-Control-Expose-Headers", "A, *"}}), Values{"A, *"});
  preflight_ = true;
  EXPECT_TRUE(exposed({}).empty());
  preflight_ = false;
  TestHead same_origin;
  announceId(same_origin);
  EXPECT_TRUE(valuesOf(same_origin.response.fields, "access-control-expose-headers").empty());
  TestHead skipped("/", {{"Access-Control-Allow-Origin", "*"}});
  announceTo(skipped, {std::nullopt, SkipReason::Rate, false});
  EXPECT_EQ(valuesOf(skipped.response.fields, "access-control-expose-headers"),
            Values{"Profile-Skipped"});
}

TEST_F(AnnounceTest, SurvivesAFullHead) {
  TestHead head;
  while (!head.response.fields.full()) head.add("X-Filler", "1");
  announceId(head);
  EXPECT_TRUE(head.response.fields.full());
}

TEST(LinkOrigin, IsConfiguredOrKnownOrEmpty) {
  EXPECT_EQ(linkOrigin("https://ops.example.net", "evil.net", false, false),
            "https://ops.example.net");
  EXPECT_EQ(linkOrigin(std::nullopt, "shop.example.com:8080", false, true),
            "http://shop.example.com:8080");
  EXPECT_EQ(linkOrigin(std::nullopt, "shop.example.com", true, true), "https://shop.example.com");
  EXPECT_EQ(linkOrigin(std::nullopt, "evil.net", true, false), "");
}

}  // namespace
}  // namespace flamegate::proxy
