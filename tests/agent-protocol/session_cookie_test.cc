#include "agent-protocol/token/session_cookie.h"

#include <string>

#include <gtest/gtest.h>

namespace flamegate::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const SessionKeyRing kKeys(SessionKeys::derive("the session secret, 32 bytes or more"));

TEST(SessionCookie, VerifiesWhatWasSigned) {
  const std::string id = issueSessionId();
  EXPECT_EQ(id.size(), kSessionIdSize);
  EXPECT_NE(id, issueSessionId());
  const std::string value = sessionCookieValue(id, kKeys.current());
  EXPECT_EQ(verifySessionCookie(value, kKeys), id);
}

TEST(SessionCookie, IsForeignWhenAnyByteIsChanged) {
  const std::string value = sessionCookieValue(issueSessionId(), kKeys.current());
  for (size_t i = 0; i < value.size(); ++i) {
    std::string changed = value;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verifySessionCookie(changed, kKeys)) << i;
    EXPECT_FALSE(verifySessionCookie(std::string_view(value).substr(0, i), kKeys)) << i;
  }
  EXPECT_FALSE(verifySessionCookie(value + "A", kKeys));
  EXPECT_FALSE(verifySessionCookie(std::string(1 << 20, 'A'), kKeys));
}

TEST(SessionCookie, OutlivesOneRotationOfTheSecret) {
  const std::string value = sessionCookieValue(issueSessionId(), kKeys.current());
  const auto fresh = SessionKeys::derive("another session secret of 32 bytes or more");
  EXPECT_TRUE(verifySessionCookie(value, SessionKeyRing(fresh, kKeys.current())));
  EXPECT_FALSE(verifySessionCookie(value, SessionKeyRing(fresh)));
}

TEST(SessionCookie, IsSetWithinItsLimit) {
  const std::string value = sessionCookieValue(issueSessionId(), kKeys.current());
  EXPECT_EQ(sessionSetCookie(value, minutes(15), true),
            "__Host-flamegate=" + value + "; Path=/; Max-Age=900; HttpOnly; SameSite=Lax; Secure");
  EXPECT_EQ(sessionSetCookie(value, minutes(15), false),
            "flamegate=" + value + "; Path=/; Max-Age=900; HttpOnly; SameSite=Lax");
  EXPECT_LE(sessionSetCookie(value, std::chrono::hours(24 * 365), true).size(), 128U);
  EXPECT_NE(sessionSetCookie("", seconds(0), true).find("=; Path=/; Max-Age=0;"),
            std::string::npos);
}

}  // namespace
}  // namespace flamegate::agent
