#include "agent-protocol/wire/pairs.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/request_header.h"
#include "agent-protocol/wire/upload.h"

namespace flamegate::agent {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"a", "b"};
using Values = std::array<std::optional<std::string_view>, 2>;

TEST(Pairs, FindsKeysInAnyOrderAndLeavesAbsentOnesEmpty) {
  Values values;
  EXPECT_TRUE(splitPairs("x=1;b=2=3;a=", kKeys, values));
  EXPECT_EQ(values[0], "");
  EXPECT_EQ(values[1], "2=3");
  EXPECT_TRUE(splitPairs("z=1", kKeys, values));
  EXPECT_FALSE(values[0]);
  EXPECT_FALSE(values[1]);
}

TEST(Pairs, RefusesWhatIsNoListOfPairs) {
  Values values;
  for (std::string_view text : {"", ";", "a=1;", ";a=1", "a=1;;b=2", "a", "=1", "a=1;a=2",
                                "a=1; b=2", "a=1\t", "a=\x80", "a=1\n"}) {
    EXPECT_FALSE(splitPairs(text, kKeys, values)) << text;
  }
}

TEST(Pairs, AllowsUnknownKeysTwice) {
  Values values;
  EXPECT_TRUE(splitPairs("x=1;x=2;a=1", kKeys, values));
}

TEST(Pairs, HasALimit) {
  Values values;
  const std::string text = "a=" + std::string(510, 'x');
  EXPECT_TRUE(splitPairs(text, kKeys, values));
  EXPECT_FALSE(splitPairs(text + "x", kKeys, values));
  EXPECT_TRUE(splitPairs(text + "x", kKeys, values, 513));
}

TEST(Pairs, NumbersHaveOneSpelling) {
  EXPECT_EQ(parseStrictDecimal("0"), 0U);
  EXPECT_EQ(parseStrictDecimal("999999999999999"), 999999999999999U);
  for (std::string_view text :
       {"", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "1000000000000000"}) {
    EXPECT_FALSE(parseStrictDecimal(text)) << text;
  }
}

// Every prefix of a good field is refused or reads as the field does: nothing is read past the end.
TEST(Pairs, PrefixesOfFieldsAreJudgedWithoutReadingOn) {
  const std::string request =
      "v=1;id=mgj6k3cw0abcdefghij4;ts=1760000000000;ttl=10000;svc=shop;kid=7625929b;mode=wall;us="
      "1000;"
      "max=30000;sig=V-wcifOHlGLcu29HXpHlKw";
  for (size_t size = 0; size < request.size(); ++size) {
    const std::string copy(request, 0, size);
    EXPECT_NE(parseRequestHeader(copy).outcome, RequestHeaderParse::Outcome::Ok) << copy;
  }
  EXPECT_EQ(parseRequestHeader(request).outcome, RequestHeaderParse::Outcome::Ok);
  EXPECT_EQ(parseRequestHeader(request).header.format(), request);
}

TEST(Upload, PathsFollowTheGrammar) {
  const auto path = parseUploadPath("/agent/v1/profiles/mgj6k3cw0abcdefghij4/12-3");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->id.text(), "mgj6k3cw0abcdefghij4");
  EXPECT_EQ(path->part, "12-3");
  for (std::string_view bad :
       {"", "/", "/agent/v1/profiles/", "/agent/v1/profiles/mgj6k3cw0abcdefghij4",
        "/agent/v1/profiles/mgj6k3cw0abcdefghij4/", "/agent/v1/profiles/mgj6k3cw0abcdefghij4/1-1/",
        "/agent/v1/profiles/mgj6k3cw0abcdefghij4/1-1/2-2", "/agent/v1/profiles//1-1",
        "/agent/v2/profiles/mgj6k3cw0abcdefghij4/1-1",
        "agent/v1/profiles/mgj6k3cw0abcdefghij4/1-1"}) {
    EXPECT_FALSE(parseUploadPath(bad)) << bad;
  }
}

TEST(Upload, InstancesFollowTheGrammar) {
  EXPECT_EQ(parseHelloPath("/agent/v1/hello/web-1.4711_x"), "web-1.4711_x");
  EXPECT_TRUE(parseHelloPath("/agent/v1/hello/" + std::string(64, 'x')));
  for (const std::string& bad :
       {std::string("/agent/v1/hello/"), std::string("/agent/v1/hello/a/b"),
        std::string("/agent/v1/hello/a b"), "/agent/v1/hello/" + std::string(65, 'x')}) {
    EXPECT_FALSE(parseHelloPath(bad)) << bad;
  }
}

TEST(Ack, HoldsSixteenCapabilitiesAtMost) {
  std::string text = "v=1;id=mgj6k3cw0abcdefghij4;st=started;caps=c0";
  for (int i = 1; i < 16; ++i) text += ",c" + std::to_string(i);
  EXPECT_EQ(parseAck(text)->caps.size(), 16U);
  EXPECT_FALSE(parseAck(text + ",c16"));
}

}  // namespace
}  // namespace flamegate::agent
