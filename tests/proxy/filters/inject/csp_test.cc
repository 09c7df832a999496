#include "proxy/filters/inject/csp.h"

#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/filters/inject/csp_policy.h"

namespace flamegate::proxy {

inline void PrintTo(CspRefusal refusal, std::ostream* out) { *out << static_cast<int>(refusal); }

namespace {

constexpr std::string_view kOrigin = "https://shop.example";
constexpr std::string_view kScript = "https://shop.example/__flamegate/b/0a1b.js";
constexpr std::string_view kApi = "https://shop.example/__flamegate/api/";
constexpr std::string_view kFresh = "RnJlc2g";

CspQuestion question(CspMode mode = CspMode::Amend) {
  CspQuestion question;
  question.mode = mode;
  question.origin = kOrigin;
  question.script_url = kScript;
  question.api_url = kApi;
  question.fresh_nonce = kFresh;
  return question;
}

using Fields = std::vector<std::string_view>;

struct Row {
  std::string_view name;
  Fields enforced;
  CspRefusal reuse;        // outcome in mode Reuse
  std::string_view nonce;  // in mode Amend
  std::vector<std::optional<std::string>> amended;
};

const std::nullopt_t kSame = std::nullopt;
const std::string kUrl(kScript);
const std::string kConnect(kApi);

const Row kRows[] = {
    {"no policy", {}, CspRefusal::None, "", {}},
    {"a policy that says nothing of scripts", {"img-src 'none'"}, CspRefusal::None, "", {kSame}},
    {"self", {"script-src 'self'"}, CspRefusal::None, "", {kSame}},
    {"self by default", {"default-src 'self'"}, CspRefusal::None, "", {kSame}},
    {"everything", {"script-src *"}, CspRefusal::None, "", {kSame}},
    {"the scheme", {"script-src https:"}, CspRefusal::None, "", {kSame}},
    {"the host", {"script-src shop.example"}, CspRefusal::None, "", {kSame}},
    {"a wildcard host", {"script-src *.example"}, CspRefusal::None, "", {kSame}},
    {"our path", {"script-src https://shop.example/__flamegate/"}, CspRefusal::None, "", {kSame}},
    {"a nonce", {"script-src 'nonce-abc'"}, CspRefusal::None, "abc", {kSame}},
    {"a nonce beside unsafe-inline",
     {"script-src 'unsafe-inline' 'nonce-abc'"},
     CspRefusal::None,
     "abc",
     {kSame}},
    {"a nonce with strict-dynamic",
     {"script-src 'nonce-abc' 'strict-dynamic' https: 'unsafe-inline'"},
     CspRefusal::None,
     "abc",
     {kSame}},
    {"a nonce in one of two policies",
     {"script-src 'nonce-abc'", "default-src 'self'"},
     CspRefusal::None,
     "abc",
     {kSame, kSame}},
    {"the same nonce twice",
     {"script-src 'nonce-a' 'nonce-b'", "script-src 'nonce-b'"},
     CspRefusal::None,
     "b",
     {kSame, kSame}},
    {"different nonces",
     {"script-src 'nonce-a'", "script-src 'nonce-b'"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'nonce-a' 'nonce-RnJlc2g'", "script-src 'nonce-b' 'nonce-RnJlc2g'"}},
    {"different nonces in one field",
     {"script-src 'nonce-a', script-src 'nonce-b'"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'nonce-a' 'nonce-RnJlc2g', script-src 'nonce-b' 'nonce-RnJlc2g'"}},
    {"strict-dynamic without a nonce",
     {"script-src 'strict-dynamic' 'self'"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'strict-dynamic' 'self' 'nonce-RnJlc2g'"}},
    {"strict-dynamic with a hash",
     {"script-src 'strict-dynamic' 'sha256-aGFzaA=='"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'strict-dynamic' 'sha256-aGFzaA==' 'nonce-RnJlc2g'"}},
    {"hashes",
     {"script-src 'sha384-aGFzaA=='"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'sha384-aGFzaA==' 'nonce-RnJlc2g'"}},
    {"hashes beside self", {"script-src 'self' 'sha384-aGFzaA=='"}, CspRefusal::None, "", {kSame}},
    {"a nonce here, hashes there",
     {"script-src 'nonce-a'", "script-src 'sha256-aGFzaA=='"},
     CspRefusal::Blocked,
     kFresh,
     {"script-src 'nonce-a' 'nonce-RnJlc2g'", "script-src 'sha256-aGFzaA==' 'nonce-RnJlc2g'"}},
    {"unsafe-inline alone never gets a nonce",
     {"script-src 'unsafe-inline'"},
     CspRefusal::Blocked,
     "",
     {"script-src 'unsafe-inline' " + kUrl}},
    {"other hosts",
     {"script-src https://cdn.example"},
     CspRefusal::Blocked,
     "",
     {"script-src https://cdn.example " + kUrl}},
    {"a nonce here, other hosts there",
     {"script-src 'nonce-a'", "script-src cdn.example"},
     CspRefusal::Blocked,
     "a",
     {kSame, "script-src cdn.example " + kUrl}},
    {"none", {"script-src 'none'"}, CspRefusal::Blocked, "", {"script-src " + kUrl}},
    {"an empty list", {"script-src"}, CspRefusal::Blocked, "", {"script-src " + kUrl}},
    {"script-src-elem wins over script-src",
     {"script-src 'none'; script-src-elem 'self'"},
     CspRefusal::None,
     "",
     {kSame}},
    {"script-src-elem is what is amended",
     {"script-src 'self'; script-src-elem 'none'; img-src *"},
     CspRefusal::Blocked,
     "",
     {"script-src 'self'; script-src-elem " + kUrl + "; img-src *"}},
    {"a repeated directive has no force",
     {"script-src 'self'; script-src 'none'"},
     CspRefusal::None,
     "",
     {kSame}},
    {"names and keywords have no case",
     {"SCRIPT-SRC 'SELF'; Default-Src 'NONE'; Connect-Src *"},
     CspRefusal::None,
     "",
     {kSame}},
    {"default-src keeps its list",
     {"default-src cdn.example"},
     CspRefusal::Blocked,
     "",
     {"default-src cdn.example; script-src-elem cdn.example " + kUrl +
      "; connect-src cdn.example " + kConnect}},
    {"default-src none",
     {"default-src 'none'"},
     CspRefusal::Blocked,
     "",
     {"default-src 'none'; script-src-elem " + kUrl + "; connect-src " + kConnect}},
    {"default-src with a nonce",
     {"default-src 'nonce-a'; connect-src 'self'"},
     CspRefusal::None,
     "a",
     {kSame}},
    {"default-src with hashes; its keywords do not reach connect-src",
     {"default-src 'self' 'strict-dynamic' 'unsafe-inline';"},
     CspRefusal::Blocked,
     kFresh,
     {"default-src 'self' 'strict-dynamic' 'unsafe-inline'; script-src-elem 'self' "
      "'strict-dynamic' "
      "'unsafe-inline' 'nonce-RnJlc2g'"}},
    {"connections elsewhere only",
     {"script-src 'self'; connect-src https://api.example"},
     CspRefusal::Blocked,
     "",
     {"script-src 'self'; connect-src https://api.example " + kConnect}},
    {"no connections",
     {"connect-src 'none'; script-src 'self'"},
     CspRefusal::Blocked,
     "",
     {"connect-src " + kConnect + "; script-src 'self'"}},
    {"connections to our path",
     {"connect-src shop.example/__flamegate/"},
     CspRefusal::None,
     "",
     {kSame}},
    {"trusted types and style do not matter",
     {"style-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
     CspRefusal::None,
     "",
     {kSame}},
    {"a list of policies keeps its other parts",
     {"img-src a, script-src cdn.example ,  style-src b"},
     CspRefusal::Blocked,
     "",
     {"img-src a, script-src cdn.example " + kUrl + ",  style-src b"}},
    {"a nonce that is none",
     {"script-src 'nonce-' 'nonce-a b'"},
     CspRefusal::Blocked,
     "",
     {"script-src 'nonce-' 'nonce-a b' " + kUrl}},
};

TEST(Csp, AmendsAsLittleAsThePolicyNeeds) {
  for (const Row& row : kRows) {
    const CspDecision decision = decideCsp(row.enforced, {}, question());
    EXPECT_EQ(decision.refusal, CspRefusal::None) << row.name;
    EXPECT_EQ(decision.nonce, row.nonce) << row.name;
    EXPECT_EQ(decision.enforced, row.amended) << row.name;
    bool changed = false;
    for (const auto& value : row.amended) changed = changed || value.has_value();
    EXPECT_EQ(!decision.changes.empty(), changed) << row.name;
  }
}

TEST(Csp, ChangesNothingInModeReuse) {
  for (const Row& row : kRows) {
    const CspDecision decision = decideCsp(row.enforced, {}, question(CspMode::Reuse));
    EXPECT_EQ(decision.refusal, row.reuse) << row.name;
    for (const auto& value : decision.enforced) EXPECT_FALSE(value) << row.name;
  }
}

TEST(Csp, LeavesPagesWithAPolicyAloneInModeOff) {
  const Fields policy = {"script-src 'self'"};
  EXPECT_EQ(decideCsp({}, {}, question(CspMode::Off)).refusal, CspRefusal::None);
  EXPECT_EQ(decideCsp(policy, {}, question(CspMode::Off)).refusal, CspRefusal::Off);
  EXPECT_EQ(decideCsp({}, policy, question(CspMode::Off)).refusal, CspRefusal::Off);
}

TEST(Csp, RefusesSandboxesThatKeepTheBadgeFromRunning) {
  const auto refusal = [](std::string_view policy) {
    const Fields fields = {policy};
    return decideCsp(fields, {}, question()).refusal;
  };
  EXPECT_EQ(refusal("sandbox"), CspRefusal::Sandbox);
  EXPECT_EQ(refusal("sandbox allow-forms allow-same-origin"), CspRefusal::Sandbox);
  EXPECT_EQ(refusal("sandbox allow-scripts"), CspRefusal::Sandbox);
  EXPECT_EQ(refusal("default-src 'self', sandbox"), CspRefusal::Sandbox);
  EXPECT_EQ(refusal("sandbox allow-scripts allow-same-origin"), CspRefusal::None);
}

TEST(Csp, MirrorsAdditionsInReportOnlyPolicies) {
  const Fields report = {"script-src cdn.example; report-uri /r"};
  const CspDecision decision = decideCsp({}, report, question());
  ASSERT_EQ(decision.refusal, CspRefusal::None);
  EXPECT_EQ(decision.report_only[0], "script-src cdn.example " + kUrl + "; report-uri /r");
  EXPECT_EQ(decideCsp({}, report, question(CspMode::Reuse)).refusal, CspRefusal::ReportOnly);
}

TEST(Csp, TakesANonceThatReportOnlyPoliciesKnowToo) {
  const Fields enforced = {"script-src 'nonce-a' 'nonce-b'"};
  const Fields report = {"script-src 'nonce-b' 'strict-dynamic'"};
  const CspDecision decision = decideCsp(enforced, report, question(CspMode::Reuse));
  EXPECT_EQ(decision.refusal, CspRefusal::None);
  EXPECT_EQ(decision.nonce, "b");
  EXPECT_EQ(decideCsp({}, report, question(CspMode::Reuse)).nonce, "b");
}

TEST(Csp, CopiesAnEnforcedNonceToAReportOnlyPolicyWithoutOne) {
  const Fields enforced = {"script-src 'nonce-a'"};
  const Fields report = {"script-src 'strict-dynamic'"};
  const CspDecision decision = decideCsp(enforced, report, question());
  EXPECT_EQ(decision.nonce, "a");
  EXPECT_EQ(decision.enforced[0], std::nullopt);
  EXPECT_EQ(decision.report_only[0], "script-src 'strict-dynamic' 'nonce-a'");
}

TEST(Csp, AddsNoAddressWhenTheOriginIsNotKnown) {
  CspQuestion relative = question();
  relative.origin = "";
  relative.script_url = "/__flamegate/b/0a1b.js";
  relative.api_url = "/__flamegate/api/";
  const auto refusal = [&](std::string_view policy) {
    const Fields fields = {policy};
    return decideCsp(fields, {}, relative).refusal;
  };
  EXPECT_EQ(refusal("script-src 'self'"), CspRefusal::None);
  EXPECT_EQ(refusal("script-src *; connect-src *"), CspRefusal::None);
  EXPECT_EQ(refusal("script-src 'strict-dynamic'"), CspRefusal::None);
  EXPECT_EQ(refusal("script-src https:"), CspRefusal::Blocked);
  EXPECT_EQ(refusal("script-src shop.example"), CspRefusal::Blocked);
  EXPECT_EQ(refusal("connect-src 'none'"), CspRefusal::Blocked);
}

TEST(Csp, AddsNoAddressThatSourceExpressionsCannotHold) {
  CspQuestion literal = question();
  literal.origin = "http://[::1]:8080";
  literal.script_url = "http://[::1]:8080/__flamegate/b/0a1b.js";
  literal.api_url = "http://[::1]:8080/__flamegate/api/";
  const Fields self = {"script-src 'self'"};
  const Fields none = {"script-src 'none'"};
  EXPECT_EQ(decideCsp(self, {}, literal).refusal, CspRefusal::None);
  EXPECT_EQ(decideCsp(none, {}, literal).refusal, CspRefusal::Blocked);
}

TEST(Csp, JudgesMetaPoliciesAtTheEnd) {
  const auto nonce = [](std::vector<std::string> policies, std::string_view header_nonce,
                        CspMode mode = CspMode::Amend) {
    return decideMetaPolicies(policies, question(mode), header_nonce);
  };
  EXPECT_EQ(nonce({}, ""), "");
  EXPECT_EQ(nonce({"script-src 'self'"}, "a"), "a");
  EXPECT_EQ(nonce({"script-src 'nonce-a'"}, "a"), "a");
  EXPECT_EQ(nonce({"script-src 'nonce-m'"}, ""), "m");
  EXPECT_EQ(nonce({"script-src 'nonce-m'"}, "a"), std::nullopt);
  EXPECT_EQ(nonce({"script-src cdn.example"}, ""), std::nullopt);
  EXPECT_EQ(nonce({"script-src 'strict-dynamic'"}, ""), std::nullopt);
  EXPECT_EQ(nonce({"connect-src 'none'"}, ""), std::nullopt);
  EXPECT_EQ(nonce({"script-src 'self'"}, "", CspMode::Off), std::nullopt);
}

TEST(CspPolicy, MatchesSourcesLikeBrowsers) {
  const auto matches = [](std::string_view expression, std::string_view url) {
    return sourceMatches(expression, *parseUrl(url), *parseUrl(kOrigin));
  };
  EXPECT_TRUE(matches("*", "http://a/"));
  EXPECT_TRUE(matches("http:", "https://a/"));
  EXPECT_FALSE(matches("https:", "http://a/"));
  EXPECT_FALSE(matches("data:", "https://a/"));
  EXPECT_TRUE(matches("A.example", "https://a.example/x"));
  EXPECT_FALSE(matches("a.example", "http://a.example/x"));  // the document is https
  EXPECT_TRUE(matches("http://a.example", "https://a.example/x"));
  EXPECT_FALSE(matches("*.example", "https://example/"));
  EXPECT_FALSE(matches("*.ample", "https://example/"));
  EXPECT_TRUE(matches("https://a:8443", "https://a:8443/x"));
  EXPECT_FALSE(matches("https://a", "https://a:8443/x"));
  EXPECT_TRUE(matches("https://a:*", "https://a:8443/x"));
  EXPECT_TRUE(matches("http://a:80", "https://a/x"));
  EXPECT_TRUE(matches("a/x", "https://a/x"));
  EXPECT_FALSE(matches("a/x", "https://a/x/y"));
  EXPECT_FALSE(matches("a/x", "https://a/"));
  EXPECT_TRUE(matches("a/x/", "https://a/x/y"));
  EXPECT_TRUE(matches("a/%78", "https://a/x"));
  EXPECT_TRUE(matches("a/", "https://a/x"));
  EXPECT_TRUE(matches("'self'", "https://shop.example/x"));
  EXPECT_FALSE(matches("'self'", "https://shop.example:8443/x"));
  EXPECT_FALSE(matches("'none'", "https://shop.example/x"));
  EXPECT_FALSE(matches("'unsafe-inline'", "https://shop.example/x"));
}

TEST(CspPolicy, ParsesAddresses) {
  EXPECT_EQ(parseUrl("http://h")->port, 80);
  EXPECT_EQ(parseUrl("https://h")->port, 443);
  EXPECT_EQ(parseUrl("http://[::1]:81/p")->host, "[::1]");
  EXPECT_EQ(parseUrl("http://[::1]:81/p")->port, 81);
  EXPECT_EQ(parseUrl("http://h/p")->path, "/p");
  EXPECT_FALSE(parseUrl("/p"));
  EXPECT_FALSE(parseUrl("ftp://h/"));
  EXPECT_FALSE(parseUrl("http://h:0/"));
  EXPECT_FALSE(parseUrl("http://h:65536/"));
  EXPECT_FALSE(parseUrl("http:///p"));
}

// Policies made of random parts -------------------------------------------------------------------

std::string randomPolicy(std::mt19937& random) {
  constexpr std::string_view kDirectives[] = {
      "default-src", "script-src", "script-src-elem",
      "connect-src", "img-src",    "sandbox allow-scripts allow-same-origin"};
  constexpr std::string_view kSources[] = {"'self'",
                                           "'none'",
                                           "'unsafe-inline'",
                                           "'nonce-a'",
                                           "'nonce-b'",
                                           "'sha256-aGFzaA=='",
                                           "'strict-dynamic'",
                                           "https:",
                                           "*",
                                           "cdn.example",
                                           "https://shop.example/__flamegate/",
                                           "'unsafe-eval'"};
  std::string policy;
  for (size_t directives = random() % 4; directives > 0; --directives) {
    policy += kDirectives[random() % std::size(kDirectives)];
    for (size_t sources = random() % 4; sources > 0; --sources) {
      policy += ' ';
      policy += kSources[random() % std::size(kSources)];
    }
    policy += "; ";
  }
  return policy;
}

bool inlineAllowed(const SourceList& list) {
  bool unsafe_inline = false;
  for (std::string_view expression : list.expressions()) {
    unsafe_inline = unsafe_inline || expression == "'unsafe-inline'";
  }
  return unsafe_inline && list.nonces().empty() && !list.hasHash() && !list.hasStrictDynamic();
}

std::vector<std::string> effective(const CspPolicy& policy,
                                   std::initializer_list<std::string_view> fallbacks) {
  for (std::string_view name : fallbacks) {
    if (const Directive* directive = policy.find(name)) {
      std::vector<std::string> sources{"(governed)"};
      for (std::string_view source : SourceList(directive->value).expressions())
        sources.emplace_back(source);
      return sources;
    }
  }
  return {};
}

TEST(Csp, NeverAllowsMoreThanTheBadgeNeeds) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::string before = randomPolicy(random);
    const Fields fields = {before};
    const CspDecision decision = decideCsp(fields, {}, question());
    ASSERT_EQ(decision.refusal, CspRefusal::None) << before;
    const std::string after = decision.enforced[0].value_or(before);
    const CspPolicy old_policy(before);
    const CspPolicy new_policy(after);
    for (auto chain : {std::initializer_list<std::string_view>{"img-src", "default-src"},
                       {"script-src-attr", "script-src", "default-src"},
                       {"script-src-elem", "script-src", "default-src"},
                       {"worker-src", "child-src", "script-src", "default-src"},
                       {"style-src", "default-src"},
                       {"connect-src", "default-src"}}) {
      const std::vector<std::string> old_sources = effective(old_policy, chain);
      const std::string_view governed = *chain.begin();
      const bool was_inline = old_policy.scriptDirective() != nullptr &&
                              inlineAllowed(SourceList(old_policy.scriptDirective()->value));
      for (const std::string& source : effective(new_policy, chain)) {
        if (std::find(old_sources.begin(), old_sources.end(), source) != old_sources.end())
          continue;
        const bool script = governed.starts_with("script-src") || governed == "worker-src";
        const bool allowed = (script && source == kUrl) ||
                             (script && source == "'nonce-RnJlc2g'" && !was_inline) ||
                             (governed == "connect-src" && source == kConnect);
        ASSERT_TRUE(allowed) << source << " in " << governed << ": " << before << " -> " << after;
      }
    }
    if (const Directive* script = new_policy.scriptDirective()) {
      const SourceList list(script->value);
      const bool runs =
          (!decision.nonce.empty() && list.hasNonce(decision.nonce)) ||
          (!list.hasStrictDynamic() && list.matches(*parseUrl(kScript), *parseUrl(kOrigin)));
      ASSERT_TRUE(runs) << before << " -> " << after;
    }
  }
}

}  // namespace
}  // namespace flamegate::proxy
