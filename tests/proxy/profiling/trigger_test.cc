#include "proxy/profiling/trigger.h"

#include <string>

#include <gtest/gtest.h>

#include "agent-protocol/token/session_cookie.h"
#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using Action = Decision::Action;
using agent::Right;
using agent::Rights;
using agent::TriggerKind;

class TriggerTest : public testing::Test {
 protected:
  Marks marks(const TestHead& head) const {
    return findMarks(head.request, TriggerContext{trigger_, "/__flamegate", secure_, keys_});
  }
  Decision decision(const TestHead& head, Rights rights = Right::Trigger,
                    SessionState session = SessionState::None) const {
    return decide(marks(head), rights, session, trigger_.strip);
  }
  bool refererTriggers(const std::string& referer,
                       const std::string& host = "shop.example.com") const {
    TestHead head("/api", {{"Referer", referer}});
    head.request.authority = host;
    return decision(head).action == Action::Profile;
  }
  std::optional<std::string> cleaned(const TestHead& head, Rights rights = Right::Trigger) const {
    return cleanTarget(head.request.target, decision(head, rights), trigger_, keys_);
  }
  std::string sessionCookie() const {
    return agent::sessionCookieValue(agent::issueSessionId(), keys_.current());
  }

  config::Trigger trigger_;
  std::optional<bool> secure_ = false;
  agent::SessionKeyRing keys_{agent::SessionKeys::derive("the session secret, 32 bytes or more")};
};

TEST_F(TriggerTest, QueryPairProfiles) {
  const Decision decided = decision(TestHead("/x?pp=async-flamegraph&flamegraph_mode=cpu"));
  EXPECT_EQ(decided.action, Action::Profile);
  EXPECT_EQ(decided.kind, TriggerKind::Query);
  EXPECT_EQ(decided.options.mode, agent::Mode::Cpu);
  EXPECT_TRUE(decided.strip);
  EXPECT_FALSE(decided.show_profile);
}

TEST_F(TriggerTest, NothingHappensWithoutTheRight) {
  for (Rights rights : {Rights(), Rights(Right::View), Rights(Right::Manage),
                        Rights(Right::View) | Right::Manage}) {
    for (const char* target :
         {"/x?pp=async-flamegraph", "/x?pp=help", "/x?pp=disable", "/x?pp=skip"}) {
      const TestHead head(target, {{"X-Rack-Mini-Profiler", "async-flamegraph"}});
      const Decision decided = decision(head, rights, SessionState::Exhausted);
      EXPECT_EQ(decided.action, Action::Pass);
      EXPECT_FALSE(decided.skip);
      EXPECT_FALSE(decided.off_cookie);
      EXPECT_FALSE(decided.barred);
      EXPECT_EQ(cleaned(head, rights), std::nullopt);
    }
  }
}

TEST_F(TriggerTest, EverySourceCanBeSwitchedOff) {
  trigger_ = {.query = std::nullopt, .header = false, .referer = false};
  const TestHead head("/x?pp=async-flamegraph",
                      {{"X-Rack-Mini-Profiler", "async-flamegraph"},
                       {"Referer", "http://shop.example.com/?pp=async-flamegraph"}});
  EXPECT_EQ(decision(head).action, Action::Pass);
  EXPECT_EQ(cleaned(head), std::nullopt);
  trigger_.referer = true;
  EXPECT_EQ(decision(head).action, Action::Pass) << "a Referer has no pair without a name for it";
}

TEST_F(TriggerTest, HeaderMustBeExactAndSingle) {
  EXPECT_EQ(decision(TestHead("/", {{"x-rack-mini-profiler", "async-flamegraph"}})).kind,
            TriggerKind::Header);
  EXPECT_EQ(decision(TestHead("/", {{"x-rack-mini-profiler", "async-flamegraph"}})).action,
            Action::Profile);
  for (const char* value :
       {"", "Async-Flamegraph", "async-flamegraph,", "async-flamegraph, async-flamegraph",
        "async%2Dflamegraph", "flamegraph", "true"}) {
    EXPECT_EQ(decision(TestHead("/", {{"X-Rack-Mini-Profiler", value}})).action, Action::Pass)
        << value;
  }
  EXPECT_EQ(decision(TestHead("/", {{"X-Rack-Mini-Profiler", "async-flamegraph"},
                                    {"X-Rack-Mini-Profiler", "async-flamegraph"}}))
                .action,
            Action::Pass);
}

TEST_F(TriggerTest, HeaderTakesOptionsFromTheQueryButStripsNothing) {
  const TestHead head("/?flamegraph_mode=cpu", {{"X-Rack-Mini-Profiler", "async-flamegraph"}});
  EXPECT_EQ(decision(head).options.mode, agent::Mode::Cpu);
  EXPECT_EQ(cleaned(head), std::nullopt);
}

TEST_F(TriggerTest, RefererOfTheSameOriginProfiles) {
  for (const char* referer : {"http://shop.example.com/?pp=async-flamegraph",
                              "http://shop.example.com?pp=async-flamegraph",
                              "http://shop.example.com:80/a/b?x=1&pp=async-flamegraph",
                              "HTTP://SHOP.example.COM/?pp=async-flamegraph",
                              "http://shop.example.com/?pp=async-flamegraph#top",
                              "http://shop.example.com/?p%70=async%2Dflamegraph",
                              "http://shop.example.com/__flamegatex?pp=async-flamegraph",
                              "http://shop.example.com/x/__flamegate/?pp=async-flamegraph"}) {
    EXPECT_TRUE(refererTriggers(referer)) << referer;
  }
  EXPECT_TRUE(refererTriggers("http://[::1]:8080/?pp=async-flamegraph", "[::1]:8080"));
  EXPECT_TRUE(refererTriggers("http://[::1]/?pp=async-flamegraph", "[::1]"));
  EXPECT_TRUE(refererTriggers("http://a/?pp=async-flamegraph", "a:80"));
}

TEST_F(TriggerTest, OtherReferersDoNot) {
  for (const std::string& referer :
       {std::string("http://other.example.com/?pp=async-flamegraph"),
        std::string("http://shop.example.com.evil.net/?pp=async-flamegraph"),
        std::string("http://evilshop.example.com/?pp=async-flamegraph"),
        std::string("http://shop.example.com:8080/?pp=async-flamegraph"),
        std::string("http://shop.example.com:080/?pp=async-flamegraph"),
        std::string("https://shop.example.com/?pp=async-flamegraph"),
        std::string("http://user@shop.example.com/?pp=async-flamegraph"),
        std::string("http://shop.example.com@evil.net/?pp=async-flamegraph"),
        std::string("http://shop.example.com/__flamegate?pp=async-flamegraph"),
        std::string("http://shop.example.com/__flamegate/p/1?pp=async-flamegraph"),
        std::string("/page?pp=async-flamegraph"),
        std::string("//shop.example.com/?pp=async-flamegraph"),
        std::string("ftp://shop.example.com/?pp=async-flamegraph"),
        std::string("pp=async-flamegraph"),
        std::string("http://shop.example.com/#?pp=async-flamegraph"),
        std::string("http://shop.example.com/?app=async-flamegraph"),
        std::string("http://shop.example.com/?pp=flamegraph"),
        std::string("http://shop.example.com/?pp=skip"),
        std::string("http://shop.example.com/?pp=async-flamegraph&pp=skip"),
        std::string("http://shop.example.com/?pp=async-flamegraph&pp=help"),
        std::string("http:///?pp=async-flamegraph"),
        std::string(""),
        "http://shop.example.com/?pp=async-flamegraph&x=" + std::string(8192, 'x')}) {
    EXPECT_FALSE(refererTriggers(referer)) << referer.substr(0, 80);
  }
  EXPECT_EQ(decision(TestHead("/", {{"Referer", "http://shop.example.com/?pp=async-flamegraph"},
                                    {"Referer", "http://shop.example.com/?pp=async-flamegraph"}}))
                .action,
            Action::Pass);
}

TEST_F(TriggerTest, RefererSchemeCountsOnlyWhereOursIsKnown) {
  secure_ = std::nullopt;
  EXPECT_TRUE(refererTriggers("https://shop.example.com/?pp=async-flamegraph"));
  EXPECT_TRUE(refererTriggers("https://shop.example.com:443/?pp=async-flamegraph"));
  EXPECT_FALSE(refererTriggers("https://shop.example.com:80/?pp=async-flamegraph"));
  secure_ = true;
  EXPECT_FALSE(refererTriggers("http://shop.example.com/?pp=async-flamegraph"));
}

TEST_F(TriggerTest, RefererOptionsAreInheritedAndNothingIsStripped) {
  const TestHead head("/api?flamegraph_mode=wall&x=1",
                      {{"Referer",
                        "http://shop.example.com/?pp=async-flamegraph&flamegraph_mode=cpu&"
                        "flamegraph_sample_rate=5"}});
  const Decision decided = decision(head);
  EXPECT_EQ(decided.kind, TriggerKind::Referer);
  EXPECT_EQ(decided.options.mode, agent::Mode::Cpu);
  EXPECT_EQ(decided.options.interval_us, 5000U);
  EXPECT_EQ(cleaned(head), std::nullopt);
}

TEST_F(TriggerTest, StickyTriggersLeaveOutAssetsAndPreflights) {
  const std::string cookie = "flamegate=" + sessionCookie();
  const std::string referer = "http://shop.example.com/?pp=async-flamegraph";
  for (const char* destination :
       {"audio", "font", "image", "manifest", "style", "script", "track", "video"}) {
    const TestHead head(
        "/", {{"Sec-Fetch-Dest", destination}, {"Referer", referer}, {"Cookie", cookie}});
    EXPECT_FALSE(marks(head).referer) << destination;
    EXPECT_TRUE(marks(head).session_id.empty()) << destination;
    const TestHead asked("/?pp=async-flamegraph", {{"Sec-Fetch-Dest", destination}});
    EXPECT_EQ(decision(asked).action, Action::Profile)
        << "an explicit trigger counts for assets too";
  }
  for (const char* destination : {"document", "empty", "iframe", "worker", "Image", ""}) {
    const TestHead head(
        "/", {{"Sec-Fetch-Dest", destination}, {"Referer", referer}, {"Cookie", cookie}});
    EXPECT_TRUE(marks(head).referer) << destination;
    EXPECT_FALSE(marks(head).session_id.empty()) << destination;
  }
  TestHead preflight("/", {{"Origin", "http://other"},
                           {"Access-Control-Request-Method", "PUT"},
                           {"Referer", referer},
                           {"Cookie", cookie}});
  EXPECT_TRUE(marks(preflight).referer);
  preflight.request.method = Method::Options;
  EXPECT_FALSE(marks(preflight).referer);
  EXPECT_TRUE(marks(preflight).session_id.empty());
}

TEST_F(TriggerTest, SessionsProfileWhileTheyLast) {
  const TestHead head("/");
  EXPECT_EQ(decision(head, Right::Trigger, SessionState::Live).kind, TriggerKind::Session);
  EXPECT_EQ(decision(head, Right::Trigger, SessionState::Live).action, Action::Profile);
  EXPECT_EQ(decision(head, Right::Trigger, SessionState::None).action, Action::Pass);
  const Decision spent = decision(head, Right::Trigger, SessionState::Exhausted);
  EXPECT_EQ(spent.action, Action::Pass);
  EXPECT_EQ(spent.skip, SkipReason::Budget);
  EXPECT_EQ(
      decision(TestHead("/?pp=async-flamegraph"), Right::Trigger, SessionState::Exhausted).action,
      Action::Profile)
      << "an explicit trigger has no budget";
}

TEST_F(TriggerTest, SkipBeatsEveryTrigger) {
  const TestHead head("/?pp=skip&pp=async-flamegraph&x=1",
                      {{"X-Rack-Mini-Profiler", "async-flamegraph"},
                       {"Referer", "http://shop.example.com/?pp=async-flamegraph"}});
  const Decision decided = decision(head, Right::Trigger, SessionState::Live);
  EXPECT_EQ(decided.action, Action::Pass);
  EXPECT_TRUE(decided.barred);
  EXPECT_FALSE(decided.skip);
  EXPECT_EQ(cleaned(head), "/?x=1");
}

TEST_F(TriggerTest, ContradictionIsNotProfiledAndNotStripped) {
  const TestHead head("/?pp=flamegraph&pp=async-flamegraph",
                      {{"X-Rack-Mini-Profiler", "async-flamegraph"}});
  const Decision decided = decision(head, Right::Trigger, SessionState::Live);
  EXPECT_EQ(decided.action, Action::Pass);
  EXPECT_FALSE(decided.skip);
  EXPECT_FALSE(decided.barred);
  EXPECT_EQ(cleaned(head), std::nullopt);
}

TEST_F(TriggerTest, OtherVerbsDoWhatTheySay) {
  EXPECT_EQ(decision(TestHead("/?pp=help")).action, Action::Help);
  EXPECT_TRUE(decision(TestHead("/?pp=flamegraph")).show_profile);
  EXPECT_EQ(decision(TestHead("/?pp=flamegraph")).action, Action::Profile);
  const Decision disable = decision(TestHead("/?pp=disable"), Right::Trigger, SessionState::Live);
  EXPECT_EQ(disable.action, Action::Pass);
  EXPECT_EQ(disable.off_cookie, true);
  EXPECT_TRUE(disable.strip);
  const Decision enable = decision(TestHead("/?pp=enable"));
  EXPECT_EQ(enable.action, Action::Pass);
  EXPECT_EQ(enable.off_cookie, false);
}

TEST_F(TriggerTest, OffCookieStopsWhatTheClientAsksFor) {
  const Lines off = {{"Cookie", "a=1; flamegate-off=1"}};
  const Decision decided = decision(TestHead("/?pp=async-flamegraph", off));
  EXPECT_EQ(decided.action, Action::Pass);
  EXPECT_EQ(decided.skip, SkipReason::Disabled);
  EXPECT_TRUE(decided.strip);
  EXPECT_FALSE(decision(TestHead("/", off)).skip) << "nothing was asked for";
  EXPECT_EQ(decision(TestHead("/?pp=enable", off), Right::Trigger, SessionState::Live).action,
            Action::Profile);
}

TEST_F(TriggerTest, UpgradesAreNeverProfiled) {
  TestHead upgrade("/ws?pp=async-flamegraph&x=1");
  upgrade.request.upgrade = "websocket";
  EXPECT_EQ(decision(upgrade).action, Action::Pass);
  EXPECT_EQ(decision(upgrade).skip, SkipReason::Upgrade);
  EXPECT_EQ(cleaned(upgrade), "/ws?x=1") << "profiled or not";
  TestHead connect("host:443", {{"X-Rack-Mini-Profiler", "async-flamegraph"}});
  connect.request.method = Method::Connect;
  EXPECT_EQ(decision(connect).skip, SkipReason::Upgrade);
}

TEST_F(TriggerTest, StrippingIsAChoice) {
  trigger_.strip = false;
  const TestHead head("/?pp=async-flamegraph");
  EXPECT_EQ(decision(head).action, Action::Profile);
  EXPECT_EQ(cleaned(head), std::nullopt);
}

TEST_F(TriggerTest, PathSegmentsCountWhenSwitchedOn) {
  const TestHead off("/++profile++show/a");
  EXPECT_EQ(decision(off).action, Action::Pass);
  EXPECT_EQ(cleaned(off), std::nullopt);
  trigger_.path_segment = true;
  const std::pair<const char*, const char*> cases[] = {
      {"/++profile++show", "/"},
      {"/++profile++show/", "/"},
      {"/++profile++show/a/b?x=1", "/a/b?x=1"},
      {"/a/++profile++callgrind&pstats/b", "/a/b"},
      {"/a/++profile++show?x=/++profile++show", "/a?x=/++profile++show"},
      {"/++profile++show/++profile++show/a", "/a"},
  };
  for (const auto& [target, expected] : cases) {
    const TestHead head(target);
    EXPECT_EQ(decision(head).action, Action::Profile) << target;
    EXPECT_EQ(decision(head).kind, TriggerKind::Path) << target;
    EXPECT_EQ(cleaned(head), expected) << target;
  }
  EXPECT_EQ(decision(TestHead("/++profile++callgrind&pstats/x")).path,
            (PathActions{.callgrind = true, .pstats = true}));
  for (const char* target : {"/++profile++", "/++profile++/a", "/++profile++unknown",
                             "/++profile++show&x", "/++profile++Show", "/++profile++show&"}) {
    EXPECT_EQ(decision(TestHead(target)).action, Action::Help) << target;
  }
  for (const char* target : {"/a++profile++show", "/x?y=/++profile++show", "/++PROFILE++show"}) {
    EXPECT_EQ(decision(TestHead(target)).action, Action::Pass) << target;
  }
}

TEST_F(TriggerTest, NoPrefixOfAHeadIsReadBeyondItsEnd) {
  const std::string target =
      "/++profile++show/a?x=1&p%70=async%2Dflamegraph&flamegraph_sample_rate=0.5";
  const std::string referer = "http://shop.example.com:80/p?pp=async-flamegraph#x";
  trigger_.path_segment = true;
  for (size_t size = 0; size <= target.size(); ++size) {
    const TestHead head(target.substr(0, size), {{"Referer", referer.substr(0, size)}});
    decision(head);
    cleaned(head);
  }
}

}  // namespace
}  // namespace flamegate::proxy
