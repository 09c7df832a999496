#include "agent-protocol/wire/meta.h"

#include <string>

#include <gtest/gtest.h>

#include "proxy/base/encoding.h"

namespace flamegate::agent {
namespace {

proxy::Result<UploadMeta> parseJson(const std::string& text) {
  return parseMeta(proxy::toBase64Url(text));
}

TEST(Meta, IsEmptyWhenAbsent) { EXPECT_EQ(*parseMeta(""), UploadMeta()); }

TEST(Meta, RoundTrips) {
  UploadMeta meta;
  meta.agent = "node/1.0";
  meta.host =
      "w\xc3\xa9"
      "b";
  meta.route = "/orders/{id}";
  meta.pid = 1;
  meta.start_unix_ns = 1760000000000000000;
  meta.ticks = Ticks{3, 2, 1};
  meta.truncated = true;
  EXPECT_EQ(*parseMeta(formatMeta(meta)), meta);
  EXPECT_EQ(*parseMeta(formatMeta(UploadMeta())), UploadMeta());
}

TEST(Meta, IgnoresUnknownMembersAndCutsFractions) {
  const auto meta = parseJson(R"({"future":{"x":[1]},"measured_period_us":1003.7})");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->measured_period_us, 1003U);
}

TEST(Meta, RefusesWhatIsNoObjectOfItsKind) {
  for (const char* text :
       {"", "[]", "1", "null", "{", R"({"pid":"1"})", R"({"pid":-1})", R"({"agent":1})",
        R"({"ticks":[]})", R"({"ticks":{"taken":"x"}})", R"({"truncated":1})",
        R"({"period_us":1e300})", "{\"agent\":\"\xff\"}"}) {
    EXPECT_FALSE(parseJson(text) && *text != '\0') << text;
  }
  EXPECT_FALSE(parseMeta("!!!!"));
  EXPECT_FALSE(parseMeta("e30="));
}

TEST(Meta, HasLimits) {
  EXPECT_TRUE(parseJson("{\"route\":\"" + std::string(1024, 'r') + "\"}"));
  EXPECT_FALSE(parseJson("{\"route\":\"" + std::string(1025, 'r') + "\"}"));
  EXPECT_TRUE(parseJson("{\"x\":\"" + std::string(4096 - 8, 'x') + "\"}"));
  EXPECT_EQ(parseJson("{\"x\":\"" + std::string(4096, 'x') + "\"}").error().code,
            proxy::ErrorCode::TooLarge);
  EXPECT_FALSE(parseJson(std::string(3000, '[')));
}

}  // namespace
}  // namespace flamegate::agent
