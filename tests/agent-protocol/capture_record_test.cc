#include "agent-protocol/wire/capture_record.h"

#include <string>

#include <gtest/gtest.h>

#include "agent-protocol/wire/json_fields.h"

namespace flamegate::agent {
namespace {

CaptureRecord fullRecord() {
  CaptureRecord record;
  record.phase = CaptureRecord::Phase::End;
  record.id = *ProfileId::parse("mgj6k3cw0abcdefghij4");
  record.trigger = TriggerKind::Referer;
  record.method = "GET";
  record.path = "/orders/17";
  record.site = "shop.example.com";
  record.endpoint = "10.0.0.5:3000";
  record.route = "GET /orders/:id";
  record.service = "shop";
  record.kids = {"7625929b", "0123abcd"};
  record.status = 304;
  record.started_at_ms = 1760000000000;
  record.duration_us = 150000;
  record.upstream_us = 149000;
  record.phases = {0, 12, 140000, std::nullopt};
  record.mode = Mode::Both;
  record.interval_us = 1000;
  record.max_ms = 30000;
  record.ignore_gc = true;
  record.ack = AckSummary{AckState::Started, "python/1.0", "cpython/3.11", {"wall", "cpu"}};
  record.failure = "client-gone";
  record.changes = {"removed pp from the query"};
  record.campaign = "c1";
  record.pageview = "pv1";
  return record;
}

TEST(CaptureRecord, RoundTripsInOneLine) {
  const CaptureRecord record = fullRecord();
  const std::string line = formatCaptureRecord(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = parseCaptureRecord(line);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, record);
}

TEST(CaptureRecord, RoundTripsWhenSparse) {
  CaptureRecord record;
  record.id = *ProfileId::parse("mgj6k3cw0abcdefghij4");
  record.skipped = "no-agent";
  EXPECT_EQ(*parseCaptureRecord(formatCaptureRecord(record)), record);
}

TEST(CaptureRecord, NamesEveryTrigger) {
  for (auto kind :
       {TriggerKind::Query, TriggerKind::Header, TriggerKind::Referer, TriggerKind::Session,
        TriggerKind::Campaign, TriggerKind::Path, TriggerKind::Slow}) {
    EXPECT_EQ(parseTriggerKind(triggerKindName(kind)), kind);
  }
  EXPECT_FALSE(parseTriggerKind("Query"));
}

TEST(CaptureRecord, CutsAndCleansWhatClientsSent) {
  CaptureRecord record = fullRecord();
  record.path = "/\xff\xc3(" + std::string(1, '\0') + std::string(5000, 'p');
  record.site = std::string(300, '\x01');
  record.changes.assign(100, std::string(1000, '"'));
  record.kids.assign(9, "7625929b");
  const std::string line = formatCaptureRecord(record);
  EXPECT_LE(line.size(), kRecordLineBytesMax);
  const auto parsed = parseCaptureRecord(line);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->path.starts_with("/%FF%C3("));
  EXPECT_LE(parsed->path.size(), 2048U);
  EXPECT_TRUE(parsed->path.ends_with("\xe2\x80\xa6"));
  EXPECT_EQ(parsed->changes.size(), 24U);
  EXPECT_EQ(parsed->kids.size(), 4U);
}

TEST(CaptureRecord, StaysUnderItsLineLimitAtWorst) {
  CaptureRecord record = fullRecord();
  for (std::string* text :
       {&record.method, &record.path, &record.site, &record.endpoint, &record.route,
        &record.service, &record.skipped, &record.failure, &record.campaign, &record.pageview,
        &record.ack->agent, &record.ack->runtime}) {
    *text = std::string(10000, '\x01');
  }
  record.changes.assign(100, std::string(1000, '\x01'));
  record.ack->caps.assign(100, std::string(1000, '\x01'));
  EXPECT_TRUE(parseCaptureRecord(formatCaptureRecord(record)));
}

TEST(CaptureRecord, RefusesWhatIsNoRecord) {
  const std::string good = formatCaptureRecord(fullRecord());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parseCaptureRecord(std::string_view(good).substr(0, size)));
  }
  const std::string start =
      R"({"id":"mgj6k3cw0abcdefghij4","phase":"end","trigger":"query","mode":"wall")";
  EXPECT_TRUE(parseCaptureRecord(start + "}"));
  EXPECT_TRUE(parseCaptureRecord(start + R"(,"new":[{}]})"));
  for (const char* more :
       {R"(,"status":"200"})", R"(,"status":-1})", R"(,"path":7})", R"(,"kids":"x"})",
        R"(,"kids":["a","b","c","d","e"]})", R"(,"ack":{}})", R"(,"ack":{"state":"ok"}})",
        R"(,"phases_us":[]})", R"(,"phases_us":{"queue":"1"}})", R"(,"ignore_gc":1})",
        R"(,"mode":"heap"})", R"(,"phase":"middle"})"}) {
    EXPECT_FALSE(parseCaptureRecord(start + more)) << more;
  }
  EXPECT_FALSE(parseCaptureRecord(start + ",\"path\":\"" + std::string(2049, 'p') + "\"}"));
  EXPECT_FALSE(parseCaptureRecord(start + std::string(kRecordLineBytesMax, ' ') + "}"));
}

TEST(CleanText, KeepsUtf8AndEscapesTheRest) {
  EXPECT_EQ(cleanText("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5", 64),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5");
  EXPECT_EQ(cleanText("\xc0\xaf", 64), "%C0%AF");         // overlong
  EXPECT_EQ(cleanText("\xed\xa0\x80", 64), "%ED%A0%80");  // surrogate
  EXPECT_EQ(cleanText("\xf4\x90\x80\x80", 64), "%F4%90%80%80");
  EXPECT_EQ(cleanText("\xe2\x82", 64), "%E2%82");  // cut short
  EXPECT_EQ(cleanText("12345678", 8), "12345678");
  EXPECT_EQ(cleanText("123456789", 8), "12345\xe2\x80\xa6");
  EXPECT_EQ(cleanText("1234\xc3\xbc"
                      "789",
                      8),
            "1234\xe2\x80\xa6")
      << "never cuts a character";
}

}  // namespace
}  // namespace flamegate::agent
