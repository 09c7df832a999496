#include "control/store/record.h"

#include <gtest/gtest.h>

namespace flamegate::control {
namespace {

using proxy::ErrorCode;

ProfileRecord fullRecord() {
  ProfileRecord record;
  record.id = "0mjq1x2a3b4c5d6e7f8g";
  record.kind = ProfileKind::Continuous;
  record.state = ProfileState::Failed;
  record.reason = FailReason::ClientGone;
  record.trigger = Trigger::Session;
  record.method = "POST";
  record.path = "/a/b \"c\"";
  record.host = "web-1";
  record.route = "POST /a/:x";
  record.service = "shop";
  record.status = 502;
  record.site = "shop.example.com:8443";
  record.started_at = WallTime(Millis(1'767'225'600'123));
  record.duration = Micros(12'345);
  record.upstream = Micros(1);
  record.mode = ProfileMode::Both;
  record.interval = Micros(500);
  record.samples = 4096;
  record.ticks = Ticks{100, 98, 2};
  record.overhead = Micros(77);
  record.agent = "python/1.0";
  record.runtime = "cpython/3.11";
  record.pid = 4321;
  record.bytes = UINT64_MAX;
  record.campaign = "c1";
  record.pageview = "pv";
  record.cpu = Micros(9000);
  record.phases = {Micros(1), Micros(2), std::nullopt, Micros(4)};
  record.states = {Micros(5), std::nullopt, Micros(7), Micros(8)};
  record.changes = {"Accept-Encoding was reduced to gzip", "a badge was added"};
  record.time_corrected = true;
  record.stored_at = WallTime(Millis(1'767'225'601'000));
  record.pinned_until = WallTime(Millis(1'775'001'601'000));
  return record;
}

TEST(RecordJson, GivesBackEveryField) {
  auto read = recordFromJson(toJson(fullRecord()));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(*read, fullRecord());
}

TEST(RecordJson, WritesTheContractsNamesInTheirOrder) {
  ProfileRecord record = fullRecord();
  record.links = {{"profile", "/__flamegate/p/x"}};
  record.bytes = 10;
  EXPECT_EQ(
      toJson(record),
      R"({"id":"0mjq1x2a3b4c5d6e7f8g","kind":"continuous","state":"failed","reason":"client-gone",)"
      R"("trigger":"session","method":"POST","path":"/a/b \"c\"","host":"web-1","route":"POST /a/:x",)"
      R"("service":"shop","status":502,"site":"shop.example.com:8443",)"
      R"("started_at":"2026-01-01T00:00:00.123Z","duration_ms":12.345,"upstream_ms":0.001,)"
      R"("mode":"both","interval_us":500,"samples":4096,)"
      R"("ticks":{"expected":100,"taken":98,"missed":2},"overhead_us":77,"agent":"python/1.0",)"
      R"("runtime":"cpython/3.11","pid":4321,"bytes":10,"campaign":"c1","pageview":"pv","cpu_ms":9.0,)"
      R"("phases_ms":{"queue":0.001,"connect":0.002,"body":0.004},)"
      R"("states_ms":{"running":0.005,"gil":0.007,"gc":0.008},)"
      R"("changes":["Accept-Encoding was reduced to gzip","a badge was added"],)"
      R"("time_corrected":true,"stored_at":"2026-01-01T00:00:01.000Z",)"
      R"("pinned_until":"2026-04-01T00:00:01.000Z","links":{"profile":"/__flamegate/p/x"}})");
}

TEST(RecordJson, LeavesOutWhatIsUnknown) {
  ProfileRecord record;
  record.id = "00000000000000000001";
  EXPECT_EQ(
      toJson(record),
      R"({"id":"00000000000000000001","state":"running","started_at":"1970-01-01T00:00:00.000Z"})");
  EXPECT_EQ(recordFromJson(toJson(record)).value(), record);
}

TEST(RecordJson, ReplacesBytesThatAreNoUtf8) {
  ProfileRecord record;
  record.id = "00000000000000000001";
  record.path = "/caf\xe9/\x01";
  auto read = recordFromJson(toJson(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->path, "/caf\xef\xbf\xbd/\x01");
}

TEST(RecordJson, SkipsUnknownKeysAndNulls) {
  auto read = recordFromJson(
      R"({"id":"00000000000000000001","novelty":[1,{"x":2}],"status":null,"agent":null})");
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->status, std::nullopt);
}

TEST(RecordJson, RefusesWhatItsKeysForbid) {
  const char* const kBroken[] = {
      "",
      "[]",
      "{",
      "{}",
      R"({"id":"short"})",
      R"({"id":"0000000000000000000A"})",
      R"({"id":17})",
      R"({"id":"00000000000000000001","state":"done"})",
      R"({"id":"00000000000000000001","reason":"because"})",
      R"({"id":"00000000000000000001","status":"200"})",
      R"({"id":"00000000000000000001","status":99999999999})",
      R"({"id":"00000000000000000001","samples":-1})",
      R"({"id":"00000000000000000001","samples":1.5})",
      R"({"id":"00000000000000000001","duration_ms":"1"})",
      R"({"id":"00000000000000000001","duration_ms":1e300})",
      R"({"id":"00000000000000000001","started_at":"yesterday"})",
      R"({"id":"00000000000000000001","ticks":7})",
      R"({"id":"00000000000000000001","ticks":{"taken":"x"}})",
      R"({"id":"00000000000000000001","changes":[1]})",
      R"({"id":"00000000000000000001","time_corrected":1})",
  };
  for (const char* text : kBroken) {
    auto read = recordFromJson(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::Malformed);
  }
}

TEST(RecordJson, SurvivesEveryTruncation) {
  const std::string json = toJson(fullRecord());
  for (size_t size = 0; size < json.size(); ++size) {
    EXPECT_FALSE(recordFromJson(std::string_view(json).substr(0, size))) << size;
  }
}

TEST(Rfc3339, ReadsWhatTheStandardAllows) {
  const WallTime expected(Millis(1'767'225'600'123));
  for (const char* text : {"2026-01-01T00:00:00.123Z", "2026-01-01t00:00:00.123456789z",
                           "2026-01-01T01:30:00.123+01:30", "2025-12-31T19:00:00.123-05:00"}) {
    EXPECT_EQ(findRfc3339(text), expected) << text;
  }
  EXPECT_EQ(findRfc3339("2024-02-29T00:00:00Z"), WallTime(Millis(1'709'164'800'000)));
  EXPECT_EQ(findRfc3339("2016-12-31T23:59:60Z"), findRfc3339("2017-01-01T00:00:00Z"));
  EXPECT_EQ(findRfc3339("2026-01-01T00:00:00.5Z"), WallTime(Millis(1'767'225'600'500)));
}

TEST(Rfc3339, RefusesTheRest) {
  for (const char* text :
       {"", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00Zx", "1969-12-31T23:59:59Z", "+026-01-01T00:00:00Z"}) {
    EXPECT_EQ(findRfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339, WritesWhatItReads) {
  for (int64_t millis : {int64_t{0}, int64_t{951'782'400'001}, int64_t{253'402'300'799'999}}) {
    const WallTime time{Millis(millis)};
    EXPECT_EQ(findRfc3339(toRfc3339(time)), time);
  }
}

TEST(ProfileId, IsTwentyLowerCaseCharacters) {
  EXPECT_TRUE(isProfileId("0123456789abcdefghiz"));
  for (const char* text : {"", "0123456789abcdefghi", "0123456789abcdefghijk",
                           "0123456789abcdefgh/.", "0123456789ABCDEFGHIJ"}) {
    EXPECT_FALSE(isProfileId(text)) << text;
  }
}

}  // namespace
}  // namespace flamegate::control
