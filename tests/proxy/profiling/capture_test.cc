#include "proxy/profiling/capture.h"

#include <string>

#include <gtest/gtest.h>

#include "agent-protocol/token/agent_signature.h"
#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using agent::AckState;

const agent::ProfileId kId = *agent::ProfileId::parse("mgj6k3cw0abcdefghij4");
const agent::ProfileId kOther = *agent::ProfileId::parse("mgj6k3cw0abcdefghij5");
constexpr int64_t kNow = 1760000000000;

std::string ackText(const agent::ProfileId& id, std::string_view state) {
  return "v=1;id=" + std::string(id.text()) + ";st=" + std::string(state) +
         ";agent=python/1.0;rt=cpython/3.11";
}

Capture capture(bool asked = true, bool view = false) {
  return Capture(kId, agent::TriggerKind::Query, asked, view, CaptureOptions{}, AdmissionSlot());
}

Announcement afterAck(Capture capture, const Lines& lines) {
  capture.onResponseHead(TestHead("/", lines).response.fields);
  return capture.announcement();
}

TEST(Capture, AnnouncesWhatTheAgentSaid) {
  const auto told = [](std::string_view state) {
    return afterAck(capture(), {{"Flamegate-Ack", ackText(kId, state)}});
  };
  EXPECT_EQ(told("started"), (Announcement{kId, std::nullopt, false}));
  const std::pair<std::string_view, SkipReason> reasons[] = {
      {"busy", SkipReason::AgentBusy},         {"off", SkipReason::AgentOff},
      {"error", SkipReason::AgentError},       {"replay", SkipReason::AgentError},
      {"unsupported", SkipReason::AgentError}, {"bad-sig", SkipReason::BadSignature},
      {"expired", SkipReason::Clock}};
  for (const auto& [state, reason] : reasons) {
    EXPECT_EQ(told(state), (Announcement{std::nullopt, reason, false})) << state;
  }
  EXPECT_EQ(afterAck(capture(), {}).skip, SkipReason::NoAgent);
}

TEST(Capture, CountsOnlyASingleAckWithItsOwnId) {
  const std::string own = ackText(kId, "started");
  const std::string other = ackText(kOther, "started");
  EXPECT_TRUE(afterAck(capture(), {{"flamegate-ack", own}}).id);
  EXPECT_TRUE(afterAck(capture(), {{"Flamegate-Ack", other}, {"Flamegate-Ack", own}}).id);
  EXPECT_FALSE(afterAck(capture(), {{"Flamegate-Ack", own}, {"Flamegate-Ack", own}}).id);
  EXPECT_FALSE(afterAck(capture(), {{"Flamegate-Ack", other}}).id);
  EXPECT_FALSE(afterAck(capture(), {{"Flamegate-Ack", own + ", " + own}}).id);
  EXPECT_FALSE(afterAck(capture(), {{"Flamegate_Ack", own}}).id);
  EXPECT_FALSE(afterAck(capture(), {{"Flamegate-Acks", own}}).id);
}

TEST(Capture, CountsSidecarsAndAnswersOfTheProxyItself) {
  Capture armed = capture();
  armed.onArmed();
  EXPECT_EQ(armed.announcement().id, kId);
  Capture gone = capture();
  gone.onLocalReply();
  EXPECT_EQ(gone.announcement().id, kId);
  Capture refused = capture();
  refused.onRefused(SkipReason::Upstream);
  refused.onLocalReply();
  EXPECT_EQ(refused.announcement(), (Announcement{std::nullopt, SkipReason::Upstream, false}));
}

TEST(Capture, TellsCampaignsToViewersOnly) {
  const Lines started = {{"Flamegate-Ack", ackText(kId, "started")}};
  const Lines busy = {{"Flamegate-Ack", ackText(kId, "busy")}};
  EXPECT_TRUE(afterAck(capture(false, false), started).nothing());
  EXPECT_EQ(afterAck(capture(false, true), started), (Announcement{kId, std::nullopt, true}));
  EXPECT_TRUE(afterAck(capture(false, true), busy).nothing());
  EXPECT_TRUE(afterAck(capture(false, true), {}).nothing());
}

TEST(Capture, GetsAnotherIdForAnotherTry) {
  Capture retried = capture();
  retried.renew(kOther);
  retried.onResponseHead(
      TestHead("/", {{"Flamegate-Ack", ackText(kId, "started")}}).response.fields);
  EXPECT_FALSE(retried.announcement().id);
  retried.onResponseHead(
      TestHead("/", {{"Flamegate-Ack", ackText(kOther, "started")}}).response.fields);
  EXPECT_EQ(retried.announcement().id, kOther);
}

TEST(Capture, SignsWhatAgentsAccept) {
  const agent::KeyRing keys(agent::AgentKeys::derive("an agent secret of at least 32 bytes"),
                            agent::AgentKeys::derive("the agent secret before the present one"));
  Capture signing = capture();
  const std::string header = signing.requestHeader("shop", "POST", keys, kNow);
  const auto check = agent::checkRequest(header, "POST", "shop", kNow, keys);
  EXPECT_EQ(check.answer, AckState::Started);
  EXPECT_EQ(check.header.id, kId);
  EXPECT_EQ(signing.record().service, "shop");
  EXPECT_EQ(signing.record().kids,
            (std::vector<std::string>{keys.current().kid, keys.previous()->kid}));
}

TEST(Capture, WritesItsRecord) {
  Capture recorded = capture();
  recorded.record().path = "/a";
  recorded.noteChange("removed pp from the query");
  const auto begin = agent::parseCaptureRecord(recorded.beginLine());
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->phase, agent::CaptureRecord::Phase::Begin);
  EXPECT_EQ(begin->changes.size(), 1U);
  recorded.onResponseHead(TestHead("/", {{"Flamegate-Ack", ackText(kId, "busy")}}).response.fields);
  const auto end = agent::parseCaptureRecord(recorded.endLine());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->phase, agent::CaptureRecord::Phase::End);
  EXPECT_EQ(end->skipped, "agent-busy");
  ASSERT_TRUE(end->ack);
  EXPECT_EQ(end->ack->agent, "python/1.0");
}

TEST(Capture, OptionsFallBackToTheDefaults) {
  config::ProfileDefaults defaults;
  defaults.mode = config::SampleMode::Both;
  EXPECT_EQ(effectiveOptions(defaults, {}),
            (CaptureOptions{agent::Mode::Both, 1000, 30000, false}));
  EXPECT_EQ(effectiveOptions(defaults, {agent::Mode::Cpu, 100, true}),
            (CaptureOptions{agent::Mode::Cpu, 100, 30000, true}));
}

TEST(Capture, CorrectsClocksThatAreFarOff) {
  EXPECT_EQ(clockCorrection(1000, 900, 1100), 0);
  EXPECT_EQ(clockCorrection(2000, 900, 1100), 0);
  EXPECT_EQ(clockCorrection(2001, 900, 1100), 1001);
  EXPECT_EQ(clockCorrection(10, 9900, 10100), -9990);
}

TEST(RecordedPath, LeavesOutOrMasksTheQuery) {
  EXPECT_EQ(recordedPath("/a?b=1", false), "/a");
  EXPECT_EQ(recordedPath("/a", true), "/a");
  EXPECT_EQ(recordedPath("/a?b=1&c", true), "/a?b=1&c");
  EXPECT_EQ(
      recordedPath("/a?access_token=x&Password=y&api%4bey=z&q=token&fgtoken=fg1.x&sid=", true),
      "/a?access_token=***&Password=***&api%4bey=***&q=token&fgtoken=***&sid=");
}

TEST(SkipReasons, HaveTheirNames) {
  EXPECT_EQ(skipReasonName(SkipReason::Disabled), "disabled");
  EXPECT_EQ(skipReasonName(SkipReason::BadSignature), "bad-signature");
  EXPECT_EQ(skipReasonName(SkipReason::ControlDown), "control-down");
  EXPECT_EQ(skipReasonName(SkipReason::StoreDown), "store-down");
  EXPECT_EQ(skipReasonName(SkipReason::StoreFull), "store-full");
  EXPECT_EQ(skipReasonName(SkipReason::Upstream), "upstream");
}

}  // namespace
}  // namespace flamegate::proxy
