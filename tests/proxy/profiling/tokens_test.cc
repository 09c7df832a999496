#include <string>

#include <gtest/gtest.h>

#include "proxy/profiling/token_carriers.h"
#include "proxy/profiling/trigger.h"
#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using agent::TokenState;

constexpr int64_t kNow = 1760000000;
const agent::SessionKeyRing kKeys(
    agent::SessionKeys::derive("the session secret, 32 bytes or more"));

std::string mint(std::string_view host = "", std::chrono::seconds ttl = std::chrono::hours(1)) {
  return agent::mintToken(*agent::createClaims(agent::Right::Trigger, ttl, "ann", host, kNow),
                          kKeys.current());
}

// The same text in each of the carriers.
std::vector<TestHead> inEveryCarrier(const std::string& token) {
  std::vector<TestHead> heads;
  heads.emplace_back("/", Lines{{"Authorization", "Bearer " + token}});
  heads.emplace_back("/", Lines{{"Flamegate-Token", token}});
  heads.emplace_back("/?x=1&fgtoken=" + token);
  return heads;
}

TEST(TokenCarriers, AllTakeAGoodToken) {
  const std::string token = mint("shop.example.com");
  for (const TestHead& head : inEveryCarrier(token)) {
    const CarriedToken carried = readToken(head.request, kNow, kKeys);
    EXPECT_TRUE(carried.good());
    EXPECT_EQ(carried.check.claims.holder, "ann");
  }
}

TEST(TokenCarriers, AllRefuseTheSameWrongOnes) {
  const std::string token = mint();
  std::string upper = token;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  const std::string others[] = {"",
                                "fg1.",
                                token.substr(0, token.size() - 1),
                                token + "x",
                                upper,
                                token.substr(4),
                                "fg2" + token.substr(3),
                                mint("other.example.com"),
                                std::string(1 << 20, 'x'),
                                "fg1." + std::string(1 << 20, 'x')};
  for (const std::string& other : others) {
    for (const TestHead& head : inEveryCarrier(other)) {
      EXPECT_FALSE(readToken(head.request, kNow, kKeys).good()) << other.substr(0, 80);
    }
  }
  for (const TestHead& head : inEveryCarrier(token)) {
    EXPECT_FALSE(readToken(head.request, kNow + 3600, kKeys).good());
    EXPECT_EQ(readToken(head.request, kNow + 3600, kKeys).check.state, TokenState::Expired);
  }
}

TEST(TokenCarriers, CountOnlyInTheirOwnPlaces) {
  const std::string token = mint();
  const Lines wrong = {{"Authorization", token},
                       {"Authorization", "Basic " + token},
                       {"Authorization", "Bearer" + token},
                       {"Cookie", "fgtoken=" + token},
                       {"X-Flamegate-Token", token},
                       {"Referer", "http://shop.example.com/?fgtoken=" + token},
                       {"Flamegate_Token", token}};
  for (const auto& line : wrong) {
    EXPECT_EQ(readToken(TestHead("/", {line}).request, kNow, kKeys).check.state,
              TokenState::Foreign)
        << line.first;
  }
  for (const std::string& target : {"/?token=" + token, "/?FGTOKEN=" + token, "/fgtoken=" + token,
                                    "/?x=1;fgtoken=" + token, "/?fgtoken=" + token + "%"}) {
    EXPECT_EQ(readToken(TestHead(target).request, kNow, kKeys).check.state, TokenState::Foreign);
  }
}

TEST(TokenCarriers, DecodeTheQueryOnce) {
  std::string token = mint();
  const size_t dot = token.rfind('.');
  EXPECT_TRUE(readToken(TestHead("/?fgtoken=%66" + token.substr(1)).request, kNow, kKeys).good());
  const std::string once = token.substr(0, dot) + "%2E" + token.substr(dot + 1);
  const std::string twice = token.substr(0, dot) + "%252E" + token.substr(dot + 1);
  EXPECT_TRUE(readToken(TestHead("/?fgtoken=" + once).request, kNow, kKeys).good());
  EXPECT_FALSE(readToken(TestHead("/?fgtoken=" + twice).request, kNow, kKeys).good());
}

TEST(TokenCarriers, MustNotContradictEachOther) {
  const std::string token = mint();
  const std::string another = mint();
  EXPECT_TRUE(
      readToken(TestHead("/?fgtoken=" + token, {{"Flamegate-Token", token}}).request, kNow, kKeys)
          .good());
  EXPECT_TRUE(
      readToken(TestHead("/?fgtoken=" + token + "&fgtoken=" + token).request, kNow, kKeys).good());
  const TestHead heads[] = {
      TestHead("/?fgtoken=bad", {{"Flamegate-Token", token}}),
      TestHead("/?fgtoken=" + token, {{"Flamegate-Token", "bad"}}),
      TestHead("/?fgtoken=bad&fgtoken=" + token),
      TestHead("/?fgtoken=" + token + "&fgtoken=bad"),
      TestHead("/?fgtoken=" + token, {{"Authorization", "Bearer " + another}}),
      TestHead("/", {{"Flamegate-Token", token}, {"Flamegate-Token", ""}})};
  for (const TestHead& head : heads) {
    EXPECT_FALSE(readToken(head.request, kNow, kKeys).good()) << head.request.target;
  }
  const TestHead own("/?fgtoken=" + token,
                     {{"Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}});
  EXPECT_TRUE(readToken(own.request, kNow, kKeys).good())
      << "the application's own credential is no carrier";
}

TEST(TokenCarriers, GenuineTokensNeverReachTheApplication) {
  const std::string expired = mint("other.example.com");
  TestHead head("/?x=1&fgtoken=" + expired + "&y=2",
                {{"Authorization", "Bearer " + expired}, {"Authorization", "Basic eA=="}});
  removeTokenFields(head.request.fields, kKeys);
  EXPECT_EQ(valuesOf(head.request.fields, "authorization"), std::vector<std::string>{"Basic eA=="});
  EXPECT_TRUE(readToken(head.request, kNow + 99999, kKeys).in_query);
  const config::Trigger trigger{.query = std::nullopt, .strip = false};
  EXPECT_EQ(cleanTarget(head.request.target, Decision(), trigger, kKeys), "/?x=1&y=2");
  const std::string forged = "/?fgtoken=fg1.e30.AAAA&fgtoken=&fgtoken";
  EXPECT_EQ(cleanTarget(forged, Decision(), trigger, kKeys), std::nullopt)
      << "not ours to take away";
  TestHead foreign("/", {{"Authorization", "Bearer fg1.e30.AAAA"}});
  removeTokenFields(foreign.request.fields, kKeys);
  EXPECT_EQ(valuesOf(foreign.request.fields, "authorization").size(), 1U);
}

}  // namespace
}  // namespace flamegate::proxy
