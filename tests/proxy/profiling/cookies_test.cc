#include <string>

#include <gtest/gtest.h>

#include "proxy/profiling/own_cookies.h"
#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

const agent::SessionKeyRing kKeys(
    agent::SessionKeys::derive("the session secret, 32 bytes or more"));

class OwnCookiesTest : public testing::Test {
 protected:
  std::vector<std::string> cut(const Lines& lines) {
    TestHead head("/", lines);
    cutSessionCookies(head.request.fields, kKeys, arena_);
    return valuesOf(head.request.fields, "cookie");
  }
  std::string session_ = agent::sessionCookieValue(agent::issueSessionId(), kKeys.current());
  Arena arena_;
};

TEST_F(OwnCookiesTest, FindsTheSessionUnderBothNames) {
  for (const char* name : {"flamegate", "__Host-flamegate"}) {
    const TestHead head("/", {{"Cookie", "a=1; " + std::string(name) + "=" + session_ + "; b=2"}});
    EXPECT_EQ(readOwnCookies(head.request.fields, kKeys).session_id, session_.substr(0, 22));
  }
}

TEST_F(OwnCookiesTest, TakesTheFirstThatVerifies) {
  const std::string forged(session_.size(), 'A');
  const TestHead head("/", {{"Cookie", "flamegate=" + forged + "; flamegate=" + session_}});
  EXPECT_EQ(readOwnCookies(head.request.fields, kKeys).session_id, session_.substr(0, 22));
  const TestHead two("/", {{"Cookie", "a=1"}, {"Cookie", "flamegate=" + session_}});
  EXPECT_EQ(readOwnCookies(two.request.fields, kKeys).session_id, session_.substr(0, 22));
}

TEST_F(OwnCookiesTest, IgnoresNearMisses) {
  for (const std::string& cookie :
       {"Flamegate=" + session_, "flamegate2=" + session_, "xflamegate=" + session_,
        "flamegate = " + session_, "flamegate=" + session_.substr(1),
        "flamegate=\"" + session_ + "\"", std::string("flamegate="), session_, std::string(),
        std::string(";;;"), std::string("="), "flamegate=" + std::string(1 << 16, 'x')}) {
    const TestHead head("/", {{"Cookie", cookie}});
    EXPECT_TRUE(readOwnCookies(head.request.fields, kKeys).session_id.empty())
        << cookie.substr(0, 60);
  }
}

TEST_F(OwnCookiesTest, FindsTheOffCookie) {
  EXPECT_TRUE(
      readOwnCookies(TestHead("/", {{"Cookie", "flamegate-off=1"}}).request.fields, kKeys).off);
  EXPECT_FALSE(
      readOwnCookies(TestHead("/", {{"Cookie", "xflamegate-off=1"}}).request.fields, kKeys).off);
  EXPECT_FALSE(
      readOwnCookies(TestHead("/", {{"Cookie", "flamegate-off"}}).request.fields, kKeys).off);
}

TEST_F(OwnCookiesTest, CutsTheSessionAndKeepsTheRest) {
  const std::string own = "flamegate=" + session_;
  using Values = std::vector<std::string>;
  EXPECT_EQ(cut({{"Cookie", "a=1; " + own + "; b=2"}}), Values{"a=1; b=2"});
  EXPECT_EQ(cut({{"Cookie", own + "; b=\"x y\""}}), Values{"b=\"x y\""});
  EXPECT_EQ(cut({{"Cookie", "a=1;" + own}}), Values{"a=1"});
  EXPECT_EQ(cut({{"Cookie", own}}), Values{});
  EXPECT_EQ(cut({{"Cookie", "a=1"}, {"Cookie", own}, {"Cookie", "b"}}), (Values{"a=1", "b"}));
  EXPECT_EQ(cut({{"Cookie", own + "; __Host-" + own}}), Values{});
  EXPECT_EQ(cut({{"Cookie", "a=1;;  b ;flamegate=forged"}}), Values{"a=1;;  b ;flamegate=forged"})
      << "a field without one of ours keeps its bytes";
}

TEST(OffCookie, LastsADay) {
  EXPECT_EQ(offCookie(true, false),
            "flamegate-off=1; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax");
  EXPECT_EQ(offCookie(false, true),
            "flamegate-off=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure");
}

}  // namespace
}  // namespace flamegate::proxy
