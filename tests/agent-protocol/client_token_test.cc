#include "agent-protocol/token/client_token.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent-protocol/token/rights.h"

namespace flamegate::agent {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr int64_t kNow = 1760000000;

class ClientToken : public testing::Test {
 protected:
  std::string mint(std::string_view host = "", seconds ttl = hours(1)) const {
    return mintToken(*createClaims(Rights(Right::View) | Right::Trigger, ttl, "ann", host, kNow),
                     keys_.current());
  }
  // Signed by us, whatever the JSON.
  std::string mintJson(const std::string& json) const {
    const std::string payload = proxy::toBase64Url(json);
    const auto mac = proxy::hmacSha256(proxy::asView(keys_.current().token), "FG1-TOK\n" + payload);
    return "fg1." + payload + "." + proxy::toBase64Url(proxy::asView(mac));
  }
  TokenState state(std::string_view token, std::string_view host = "shop.example.com",
                   int64_t now = kNow) const {
    return checkToken(token, host, now, keys_).state;
  }

  SessionKeyRing keys_{SessionKeys::derive("the session secret, 32 bytes or more")};
};

TEST_F(ClientToken, CarriesItsClaims) {
  const TokenCheck check = checkToken(mint("Shop.Example.com"), "shop.example.com", kNow, keys_);
  EXPECT_EQ(check.state, TokenState::Good);
  EXPECT_EQ(check.claims.allow, Rights(Right::View) | Right::Trigger);
  EXPECT_EQ(check.claims.holder, "ann");
  EXPECT_EQ(check.claims.host, "shop.example.com");
  EXPECT_EQ(check.claims.issued_at_s, kNow);
  EXPECT_EQ(check.claims.expires_at_s, kNow + 3600);
  EXPECT_FALSE(check.claims.jti.empty());
}

TEST_F(ClientToken, DiffersEachTime) { EXPECT_NE(mint(), mint()); }

TEST_F(ClientToken, EndsToTheSecond) {
  const std::string token = mint();
  EXPECT_EQ(state(token, "x", kNow + 3599), TokenState::Good);
  EXPECT_EQ(state(token, "x", kNow + 3600), TokenState::Expired);
  EXPECT_EQ(state(token, "x", kNow - 60), TokenState::Good);
  EXPECT_EQ(state(token, "x", kNow - 61), TokenState::Invalid);
  EXPECT_TRUE(checkToken(token, "x", kNow + 3600, keys_).genuine());
}

TEST_F(ClientToken, IsBoundToItsHostWithThePort) {
  const std::string token = mint("localhost:8080");
  EXPECT_EQ(state(token, "localhost:8080"), TokenState::Good);
  EXPECT_EQ(state(token, "LOCALHOST:8080"), TokenState::Good);
  EXPECT_EQ(state(token, "localhost"), TokenState::OtherHost);
  EXPECT_EQ(state(token, "localhost:80800"), TokenState::OtherHost);
  EXPECT_EQ(state(token, ""), TokenState::OtherHost);
}

TEST_F(ClientToken, IsForeignWhenAnyByteIsChanged) {
  const std::string token = mint();
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(state(changed), TokenState::Foreign) << i;
    EXPECT_EQ(state(std::string_view(token).substr(0, i)), TokenState::Foreign) << i;
  }
  for (const std::string& near :
       {token + "A", token + " ", " " + token, token + "=", token + "." + token}) {
    EXPECT_EQ(state(near), TokenState::Foreign);
  }
  EXPECT_EQ(state(std::string(1 << 20, 'f')), TokenState::Foreign);
  EXPECT_EQ(state("fg1." + std::string(1 << 20, 'A') + ".A"), TokenState::Foreign);
}

TEST_F(ClientToken, OutlivesOneRotationOfTheSecret) {
  const std::string token = mint();
  const auto fresh = SessionKeys::derive("another session secret of 32 bytes or more");
  EXPECT_EQ(checkToken(token, "x", kNow, SessionKeyRing(fresh, keys_.current())).state,
            TokenState::Good);
  EXPECT_EQ(checkToken(token, "x", kNow, SessionKeyRing(fresh)).state, TokenState::Foreign);
}

TEST_F(ClientToken, MayBeWrittenByScripts) {
  const std::string kid = keys_.current().kid;
  const std::string times = R"("iat":1760000000,"exp":1760003600,"jti":"j1")";
  EXPECT_EQ(state(mintJson("{\"kid\":\"" + kid + R"(","allow":"trigger,view",)" + times + "}")),
            TokenState::Good);
  EXPECT_EQ(
      state(mintJson("{\"kid\":\"" + kid + R"(","allow":["trigger"],"extra":1,)" + times + "}")),
      TokenState::Good);
}

TEST_F(ClientToken, IsInvalidWithUnusableClaims) {
  const std::string kid = "\"kid\":\"" + keys_.current().kid + "\"";
  const std::string allow = R"("allow":["view"])";
  const std::string times = R"("iat":1760000000,"exp":1760003600)";
  const std::string jti = R"("jti":"j1")";
  const auto join = [](const std::vector<std::string>& parts) {
    std::string text = "{";
    for (const auto& part : parts) text += (text.size() > 1 ? "," : "") + part;
    return text + "}";
  };
  ASSERT_EQ(state(mintJson(join({kid, allow, times, jti}))), TokenState::Good);
  for (const std::string& bad :
       {std::string("[]"), join({allow, times, jti}), join({kid, times, jti}),
        join({kid, allow, jti}), join({kid, allow, times}),
        join({"\"kid\":\"00000000\"", allow, times, jti}),
        join({kid, R"("allow":["root"])", times, jti}), join({kid, R"("allow":[1])", times, jti}),
        join({kid, R"("allow":7)", times, jti}), join({kid, allow, times, R"("jti":"")"}),
        join({kid, allow, R"("iat":1760000000,"exp":1760000000)", jti}),
        join({kid, allow, R"("iat":1760000000,"exp":1760604801)", jti}),
        join({kid, allow, R"("iat":-1,"exp":3600)", jti}),
        join({kid, allow, times, jti, R"("host":1)"})}) {
    const std::string token = mintJson(bad);
    EXPECT_EQ(state(token), TokenState::Invalid) << bad;
    EXPECT_TRUE(checkToken(token, "", kNow, keys_).genuine());
  }
}

TEST_F(ClientToken, IsRefusedAtBirthWithUnusableClaims) {
  EXPECT_FALSE(createClaims(Rights(), hours(1), "", "", kNow));
  EXPECT_FALSE(createClaims(Right::View, seconds(0), "", "", kNow));
  EXPECT_TRUE(createClaims(Right::View, kTokenTtlMax, "", "", kNow));
  EXPECT_FALSE(createClaims(Right::View, kTokenTtlMax + seconds(1), "", "", kNow));
  EXPECT_FALSE(createClaims(Right::View, hours(1), std::string(129, 'x'), "", kNow));
  EXPECT_FALSE(createClaims(Right::View, hours(1), "", std::string(261, 'x'), kNow));
}

TEST(Rights, ReadAndWriteAlike) {
  EXPECT_EQ(formatRights(Rights::all()), "view,trigger,manage");
  EXPECT_EQ(formatRights(Rights()), "");
  EXPECT_EQ(parseRights("manage,view"), Rights(Right::View) | Right::Manage);
  EXPECT_EQ(parseRights(""), Rights());
  for (std::string_view bad : {"View", "view,", ",view", "view, trigger", "all", " "}) {
    EXPECT_FALSE(parseRights(bad)) << bad;
  }
}

TEST(Rights, DoNotImplyEachOther) {
  EXPECT_FALSE(Rights(Right::Manage).has(Right::View));
  EXPECT_FALSE(Rights(Right::Trigger).has(Right::View));
  EXPECT_TRUE(Rights().none());
}

}  // namespace
}  // namespace flamegate::agent
