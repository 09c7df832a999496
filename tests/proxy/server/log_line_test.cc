#include "proxy/server/log_line.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace flamegate::proxy {
namespace {

using Format = config::AccessLog::Format;

constexpr LogKey kPath("path");
constexpr LogKey kStatus("status");
constexpr LogKey kSpan("span_us");
constexpr int64_t kTime = 784111777'007;

std::string lineOf(Format format, std::string_view path) {
  LogLines lines;
  LogLine(format, kTime, lines).text(kPath, path);
  return std::string(lines.view());
}

TEST(LogLine, WritesBothFormats) {
  LogLines lines;
  for (Format format : {Format::Json, Format::Text}) {
    LogLine line(format, kTime, lines);
    line.text(kPath, "/a");
    line.number(kStatus, 200);
    line.textIfAny(kPath, "");
    line.span(kSpan, TimePoint{1'000'000}, TimePoint{3'500'000});
    line.span(kSpan, TimePoint{}, TimePoint{3'500'000});
    line.span(kSpan, TimePoint{2}, TimePoint{1});
  }
  EXPECT_EQ(
      lines.view(),
      "{\"time\":\"1994-11-06T08:49:37.007Z\",\"path\":\"/a\",\"status\":200,\"span_us\":2500}\n"
      "time=\"1994-11-06T08:49:37.007Z\" path=\"/a\" status=200 span_us=2500\n");
  lines.clear();
  EXPECT_TRUE(lines.empty());
}

TEST(LogLine, EscapesWhatIsNotText) {
  const std::string path("/\"\\\n\x7f\xff\xc3\xbc", 8);
  EXPECT_EQ(lineOf(Format::Text, path),
            "time=\"1994-11-06T08:49:37.007Z\" path=\"/\\\"\\\\\\x0a\\x7f\\xff\xc3\xbc\"\n");
  EXPECT_NE(lineOf(Format::Json, path).find("/\\\"\\\\\\u000a\\u007f\\u00ff\xc3\xbc\""),
            std::string::npos);
}

// Overlong, surrogate, truncated and beyond U+10FFFF: each byte is escaped (RFC 3629 §3).
TEST(LogLine, EscapesMalformedUtf8) {
  for (const std::string bad : {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
                                "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"}) {
    const std::string line = lineOf(Format::Text, bad);
    for (unsigned char byte : line) EXPECT_LT(byte, 0x80) << line;
  }
  for (const std::string good : {"\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x94\xa5"}) {
    EXPECT_NE(lineOf(Format::Text, good).find(good), std::string::npos);
  }
}

// Whatever the bytes and however they lie in blocks, a JSON parser reads the line.
TEST(LogLine, IsAlwaysJson) {
  std::mt19937 random(20261201);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<size_t> size(0, 100);
  for (int round = 0; round < 20'000; ++round) {
    std::string value(size(random), 'x');
    const int places = static_cast<int>(random() % 4);
    for (int i = 0; i < places && !value.empty(); ++i) {
      value[random() % value.size()] = static_cast<char>(byte(random));
    }
    const std::string line = lineOf(Format::Json, value);
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << line;
    if (places == 0) {
      ASSERT_EQ(parsed["path"], value);
    }
  }
}

TEST(LogLine, CutsLongValues) {
  EXPECT_EQ(lineOf(Format::Text, std::string(5000, 'a')).size(),
            lineOf(Format::Text, "").size() + 2048);
  EXPECT_EQ(lineOf(Format::Json, std::string(5000, '\n')).size(),
            lineOf(Format::Json, "").size() + 2048 * 6);
}

TEST(LogLines, KeepsLinesWhileItGrows) {
  LogLines lines;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    LogLine(Format::Text, kTime, lines).number(kStatus, static_cast<uint64_t>(i));
    expected += "time=\"1994-11-06T08:49:37.007Z\" status=" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(lines.view(), expected);
}

}  // namespace
}  // namespace flamegate::proxy
