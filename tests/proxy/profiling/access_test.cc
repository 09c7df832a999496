#include "proxy/profiling/access.h"

#include <string>

#include <crypt.h>
#include <gtest/gtest.h>

#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using agent::Right;
using agent::Rights;
using config::AccessRule;

constexpr TimePoint kStart{1'000'000'000'000};
const config::Rights kView{.view = true};
const config::Rights kAll{.view = true, .trigger = true, .manage = true};
const config::Rights kOfToken{.of_token = true};

config::FromNetworks from(const char* cidr) { return {{*config::parseCidr(cidr)}, false}; }

// crypt(5) with few rounds; what deployments use only costs more.
std::string hashOf(const std::string& password) {
  crypt_data data{};
  return crypt_r(password.c_str(), "$2b$04$abcdefghijklmnopqrstuu", &data);
}

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.routes.resize(1);
    config_.routes[0].hosts = {{"shop.example.com", false}, {"example.org", true}};
    client_.ip = config::parseIp("127.0.0.1");
  }
  AccessResult evaluate(const std::vector<AccessRule>& rules, const TestHead& head = TestHead()) {
    const KnownHosts hosts(config_);
    const AccessFacts facts{head.request, client_, secure_, certificate_names_, token_, now_};
    return AccessRules(rules, hosts).evaluate(facts, passwords_);
  }

  config::Config config_;
  ClientAddress client_;
  bool secure_ = false;
  std::vector<std::string> certificate_names_;
  std::optional<TokenGrant> token_;
  TimePoint now_ = kStart;
  PasswordCache passwords_;
};

TEST_F(AccessTest, DefaultGivesLoopbackAllAndTokensTheirOwn) {
  EXPECT_EQ(evaluate(config::defaultAccess()).rights, Rights::all());
  client_.ip = config::parseIp("192.168.0.1");
  EXPECT_TRUE(evaluate(config::defaultAccess()).rights.none());
  token_ = TokenGrant{Right::Trigger, "ann"};
  EXPECT_EQ(evaluate(config::defaultAccess()).rights, Rights(Right::Trigger));
  EXPECT_EQ(evaluate(config::defaultAccess()).holder, "ann");
  client_ = {};
  token_.reset();
  EXPECT_TRUE(evaluate(config::defaultAccess()).rights.none()) << "no known address";
}

TEST_F(AccessTest, FirstRuleThatHoldsDecidesAlone) {
  const std::vector<AccessRule> rules = {
      {{from("10.0.0.0/8")}, kAll}, {{from("127.0.0.0/8")}, kView}, {{from("127.0.0.1")}, kAll}};
  EXPECT_EQ(evaluate(rules).rights, Rights(Right::View));
  EXPECT_TRUE(evaluate({{{from("127.0.0.1")}, {}}, {{from("127.0.0.1")}, kAll}}).rights.none())
      << "a rule may take everything away";
  EXPECT_TRUE(evaluate({}).rights.none());
}

TEST_F(AccessTest, AllConditionsOfARuleMustHold) {
  const std::vector<AccessRule> rules = {{{from("127.0.0.1"), config::SignedToken{}}, kAll}};
  EXPECT_TRUE(evaluate(rules).rights.none());
  token_ = TokenGrant{Right::View, ""};
  EXPECT_EQ(evaluate(rules).rights, Rights::all());
}

TEST_F(AccessTest, UnixPeersMatchOnlyUnix) {
  client_ = {.ip = {}, .unix_peer = true};
  EXPECT_TRUE(evaluate(config::defaultAccess()).rights.none());
  EXPECT_TRUE(evaluate({{{from("0.0.0.0/0")}, kAll}, {{from("::/0")}, kAll}}).rights.none());
  EXPECT_EQ(evaluate({{{config::FromNetworks{{}, true}}, kView}}).rights, Rights(Right::View));
  client_ = {.ip = config::parseIp("127.0.0.1")};
  EXPECT_TRUE(evaluate({{{config::FromNetworks{{}, true}}, kView}}).rights.none());
}

TEST_F(AccessTest, AmbientRightsNeedAKnownHost) {
  TestHead head;
  for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:80", "10.9.8.7",
                           "localhost", "LOCALHOST:8080", "a.localhost", "shop.example.com",
                           "Shop.Example.Com:443", "a.example.org", "a.b.example.org:1"}) {
    head.request.authority = host;
    EXPECT_EQ(evaluate(config::defaultAccess(), head).rights, Rights::all()) << host;
  }
  for (const char* host :
       {"", "evil.net", "evil.net:8080", "example.org", "xexample.org", "shop.example.com.evil.net",
        "xshop.example.com", "localhost.evil.net", "xlocalhost", "127.0.0.1.evil.net", "1.2.3",
        "[::1", "::1]", "shop.example.com."}) {
    head.request.authority = host;
    EXPECT_TRUE(evaluate(config::defaultAccess(), head).rights.none()) << host;
  }
  config_.profiling.policy.public_url = "https://ops.example.net:8443";
  head.request.authority = "ops.example.net";
  EXPECT_EQ(evaluate(config::defaultAccess(), head).rights, Rights::all());
}

TEST_F(AccessTest, AmbientRightsNeedAFetchOfOurOwn) {
  for (const char* site : {"none", "same-origin"}) {
    EXPECT_EQ(evaluate(config::defaultAccess(), TestHead("/", {{"Sec-Fetch-Site", site}})).rights,
              Rights::all());
  }
  for (const char* site : {"cross-site", "same-site", "None", "", "none, none"}) {
    EXPECT_TRUE(
        evaluate(config::defaultAccess(), TestHead("/", {{"Sec-Fetch-Site", site}})).rights.none())
        << site;
  }
  EXPECT_TRUE(evaluate(config::defaultAccess(),
                       TestHead("/", {{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "none"}}))
                  .rights.none());
}

TEST_F(AccessTest, TokensCountAtAnyHostAndFromAnySite) {
  TestHead head("/", {{"Sec-Fetch-Site", "cross-site"}});
  head.request.authority = "evil.net";
  token_ = TokenGrant{Rights(Right::View) | Right::Trigger, ""};
  EXPECT_EQ(evaluate(config::defaultAccess(), head).rights, Rights(Right::View) | Right::Trigger)
      << "the address rule does not hold, so the next one is asked";
}

TEST_F(AccessTest, HeadersCountFromTrustedProxiesOnly) {
  using HeaderTest = config::TrustedHeader::Test;
  const auto groups = [](HeaderTest test, const char* text) {
    return std::vector<AccessRule>{{{config::TrustedHeader{"x-auth-groups", test, text}}, kView}};
  };
  const auto allowed = [this](const std::vector<AccessRule>& rules, const Lines& lines) {
    return evaluate(rules, TestHead("/", lines)).rights.has(Right::View);
  };
  const auto has = groups(HeaderTest::Has, "developers");
  EXPECT_FALSE(allowed(has, {{"X-Auth-Groups", "developers"}}));
  client_.peer_trusted = true;
  EXPECT_TRUE(allowed(has, {{"X-Auth-Groups", "developers"}}));
  EXPECT_TRUE(allowed(has, {{"X-Auth-Groups", "staff ,\tdevelopers, x"}}));
  for (const char* value : {"", "Developers", "developer", "developers2", "dev elopers",
                            "developers;x", "\"developers\"", "notdevelopers"}) {
    EXPECT_FALSE(allowed(has, {{"X-Auth-Groups", value}})) << value;
  }
  EXPECT_FALSE(allowed(has, {{"X-Auth-Groups", "developers"}, {"X-Auth-Groups", "developers"}}))
      << "two lines";
  EXPECT_FALSE(allowed(has, {{"X_Auth_Groups", "developers"}}));
  EXPECT_FALSE(allowed(has, {}));
  EXPECT_TRUE(allowed(groups(HeaderTest::Equals, "a, b"), {{"X-Auth-Groups", "a, b"}}));
  EXPECT_FALSE(allowed(groups(HeaderTest::Equals, "a"), {{"X-Auth-Groups", "a, b"}}));
  EXPECT_TRUE(allowed(groups(HeaderTest::Regex, "dev-[0-9]+"), {{"X-Auth-Groups", "dev-17"}}));
  EXPECT_FALSE(allowed(groups(HeaderTest::Regex, "dev-[0-9]+"), {{"X-Auth-Groups", "xdev-17"}}));
  EXPECT_FALSE(allowed(groups(HeaderTest::Regex, "(unclosed"), {{"X-Auth-Groups", "(unclosed"}}));
}

TEST_F(AccessTest, CertificatesMatchByTheirNames) {
  const std::vector<AccessRule> rules = {{{config::CertificateName{"*.dev.example.com"}}, kView}};
  EXPECT_TRUE(evaluate(rules).rights.none());
  for (const char* name : {"ann.dev.example.com", "ANN.DEV.example.com"}) {
    certificate_names_ = {"other", name};
    EXPECT_EQ(evaluate(rules).rights, Rights(Right::View)) << name;
  }
  for (const char* name :
       {"dev.example.com", "a.b.dev.example.com", ".dev.example.com", "anndev.example.com", ""}) {
    certificate_names_ = {name};
    EXPECT_TRUE(evaluate(rules).rights.none()) << name;
  }
}

class UserAccess : public AccessTest {
 protected:
  std::vector<AccessRule> rules_ = {
      {{config::BasicUser{"ops", hashOf("correct horse")}}, {.view = true, .manage = true}}};
  TestHead good_{"/", {{"Authorization", "Basic b3BzOmNvcnJlY3QgaG9yc2U="}}};  // ops:correct horse
  TestHead bad_{"/", {{"Authorization", "Basic b3BzOmJhdHRlcnkgc3RhcGxl"}}};   // ops:battery staple
};

TEST_F(UserAccess, IsPendingUntilThePasswordWasChecked) {
  AccessResult result = evaluate(rules_, good_);
  ASSERT_TRUE(result.pending);
  EXPECT_TRUE(result.rights.none());
  const bool good = verifyPassword(result.pending->credential.password, result.pending->hash);
  EXPECT_TRUE(good);
  passwords_.note(result.pending->credential, result.pending->hash, result.pending->address, good,
                  now_);
  result = evaluate(rules_, good_);
  EXPECT_FALSE(result.pending);
  EXPECT_EQ(result.rights, Rights(Right::View) | Right::Manage);
  EXPECT_TRUE(result.by_user);
  EXPECT_EQ(result.holder, "ops");
  EXPECT_TRUE(evaluate(rules_, bad_).pending) << "another password is another question";
}

TEST_F(UserAccess, IsRememberedForFiveMinutes) {
  AccessResult result = evaluate(rules_, good_);
  passwords_.note(result.pending->credential, result.pending->hash, result.pending->address, true,
                  now_);
  now_ = kStart + (PasswordCache::kGoodFor - std::chrono::nanoseconds(1));
  EXPECT_FALSE(evaluate(rules_, good_).pending);
  now_ = kStart + PasswordCache::kGoodFor;
  EXPECT_TRUE(evaluate(rules_, good_).pending);
}

TEST_F(UserAccess, AllowsFiveFailuresASecond) {
  for (int i = 0; i < 5; ++i) {
    const AccessResult result = evaluate(rules_, bad_);
    ASSERT_TRUE(result.pending) << i;
    EXPECT_FALSE(verifyPassword(result.pending->credential.password, result.pending->hash));
    passwords_.note(result.pending->credential, result.pending->hash, result.pending->address,
                    false, now_);
  }
  EXPECT_FALSE(evaluate(rules_, good_).pending) << "not even the right one is tried";
  client_.ip = config::parseIp("127.0.0.2");
  EXPECT_TRUE(evaluate(rules_, good_).pending) << "another address is not held back";
  client_.ip = config::parseIp("127.0.0.1");
  now_ = kStart + std::chrono::seconds(1);
  EXPECT_TRUE(evaluate(rules_, good_).pending);
}

TEST_F(UserAccess, CountsTriesThatAreStillGoingOn) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(evaluate(rules_, bad_).pending);
  EXPECT_FALSE(evaluate(rules_, bad_).pending);
}

TEST_F(UserAccess, NeedsTlsOrLoopback) {
  client_.ip = config::parseIp("192.168.0.7");
  EXPECT_FALSE(evaluate(rules_, good_).pending);
  secure_ = true;
  EXPECT_TRUE(evaluate(rules_, good_).pending);
}

TEST_F(UserAccess, IgnoresOtherUsersAndSchemes) {
  for (const char* value : {"Basic b3BzMjpjb3JyZWN0IGhvcnNl", "Bearer b3BzOmNvcnJlY3QgaG9yc2U=",
                            "Basic", "Basic !!", "Basic b3Bz", "Basic b3BzOmNvcnJlY3QgaG9yc2U"}) {
    EXPECT_FALSE(evaluate(rules_, TestHead("/", {{"Authorization", value}})).pending) << value;
  }
}

TEST(BasicAuth, ReadsCredentials) {
  const auto credential = parseBasic("bAsIc  b3BzOmE6Yg==");
  ASSERT_TRUE(credential);
  EXPECT_EQ(credential->user, "ops");
  EXPECT_EQ(credential->password, "a:b") << "the first colon divides";
  EXPECT_FALSE(parseBasic("Basic YToAYg==")) << "a NUL would end the password early";
  EXPECT_FALSE(parseBasic("Basic " + std::string(1 << 20, 'A')));
}

TEST(BasicAuth, RefusesBrokenHashes) {
  for (const char* hash : {"", "*", "*0", "!", "plain", "$2b$", "$2b$04$short", "$zz$x$y"}) {
    EXPECT_FALSE(verifyPassword("plain", hash)) << hash;
  }
}

}  // namespace
}  // namespace flamegate::proxy
