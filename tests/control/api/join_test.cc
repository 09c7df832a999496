// Every order in which captures and parts may come, every reason of failure, restarts.
#include "tests/control/api/join_fixture.h"

namespace flamegate::control {
namespace {

TEST_F(JoinTest, StoresWhatComesInTheUsualOrder) {
  const auto id = newId();
  begin(id);
  EXPECT_EQ(stored(id).state, ProfileState::Running);
  end(id);
  EXPECT_EQ(stored(id).state, ProfileState::Waiting);
  const auto outcome = upload(id, part("71-1"));
  EXPECT_EQ(*outcome, PartOutcome::Stored);
  const ProfileRecord record = stored(id);
  EXPECT_EQ(record.state, ProfileState::Stored);
  EXPECT_EQ(body(id), "[71-1]");
  EXPECT_EQ(record.route, "GET /users/:id");
  EXPECT_EQ(record.host, "web-1");
  EXPECT_EQ(record.duration, Micros(12'500));
  EXPECT_EQ(record.samples, 6U);
  EXPECT_EQ(seen_,
            (std::vector{ProfileState::Running, ProfileState::Waiting, ProfileState::Stored}));
}

TEST_F(JoinTest, IsRunningWithABodyUntilTheResponseEnds) {
  const auto id = newId();
  begin(id);
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Running);
  EXPECT_EQ(join_->find(id.text())->state, ProfileState::Running);
  end(id);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
  EXPECT_EQ(stored(id).host, "web-1") << "the capture's end must not undo what the upload said";
  EXPECT_EQ(body(id), "[71-1]");
}

TEST_F(JoinTest, HoldsAPartForItsCapture) {
  const auto id = newId();
  const auto outcome = upload(id, part("71-1"));
  advance(20s);
  EXPECT_FALSE(outcome->has_value());
  begin(id);
  EXPECT_EQ(*outcome, PartOutcome::Stored);
  end(id);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
}

TEST_F(JoinTest, HoldsAPartForAnEndThatComesAlone) {
  const auto id = newId();
  const auto outcome = upload(id, part("71-1"));
  end(id);
  EXPECT_EQ(*outcome, PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
}

TEST_F(JoinTest, RefusesAPartThatNobodyClaimsInTime) {
  const auto id = newId();
  const auto outcome = upload(id, part("71-1"));
  advance(29s);
  EXPECT_FALSE(outcome->has_value());
  advance(2s);
  EXPECT_EQ(*outcome, PartOutcome::Unknown);
  EXPECT_EQ(executor_.timers(), 0U);
}

TEST_F(JoinTest, DoesNotHoldPartsOfImpossibleIds) {
  EXPECT_EQ(*upload(newId(-601s), part("71-1")), PartOutcome::Unknown);
  EXPECT_EQ(*upload(newId(61s), part("71-1")), PartOutcome::Unknown);
  EXPECT_FALSE(upload(newId(-599s), part("71-1"))->has_value());
  EXPECT_FALSE(upload(newId(59s), part("71-1"))->has_value());
}

TEST_F(JoinTest, MergesPartsForAMinuteAfterTheFirst) {
  const auto id = newId();
  begin(id);
  end(id);
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  advance(59s);
  auto second = part("72-1");
  second->meta.agent = "other/2";
  EXPECT_EQ(*upload(id, second), PartOutcome::Stored);
  EXPECT_EQ(body(id), "[71-1][72-1]");
  const ProfileRecord record = stored(id);
  EXPECT_EQ(record.ticks, (Ticks{20, 18, 2}));
  EXPECT_EQ(record.overhead, Micros(10));
  EXPECT_EQ(record.agent, "python/1.0");
  advance(2s);
  EXPECT_EQ(*upload(id, part("73-1")), PartOutcome::Closed);
}

TEST_F(JoinTest, TellsARepeatedPartFromAChangedOne) {
  const auto id = newId();
  begin(id);
  end(id);
  EXPECT_EQ(*upload(id, part("71-1", "a")), PartOutcome::Stored);
  EXPECT_EQ(*upload(id, part("71-1", "a")), PartOutcome::Known);
  EXPECT_EQ(*upload(id, part("71-1", "b")), PartOutcome::Differs);
  advance(90s);
  EXPECT_EQ(*upload(id, part("71-1", "a")), PartOutcome::Known) << "also when the window is over";
  EXPECT_EQ(assembler_.calls, 1);
}

TEST_F(JoinTest, AnswersARepetitionOfAHeldPartAfterTheFirst) {
  const auto id = newId();
  const auto first = upload(id, part("71-1"));
  const auto again = upload(id, part("71-1"));
  begin(id);
  EXPECT_EQ(*first, PartOutcome::Stored);
  EXPECT_EQ(*again, PartOutcome::Known);
  EXPECT_EQ(assembler_.calls, 1);
}

TEST_F(JoinTest, TakesSixteenParts) {
  const auto id = newId();
  begin(id);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(*upload(id, part(std::to_string(i) + "-1")), PartOutcome::Stored);
  }
  EXPECT_EQ(*upload(id, part("99-1")), PartOutcome::TooMany);
  EXPECT_EQ(*upload(id, part("3-1")), PartOutcome::Known);
}

TEST_F(JoinTest, RefusesAKeyThatTheClusterDoesNotUse) {
  const auto id = newId();
  begin(id);
  auto foreign = part("71-1");
  foreign->kid = "other";
  EXPECT_EQ(*upload(id, foreign), PartOutcome::WrongKey);
}

TEST_F(JoinTest, FailsWhenNothingIsUploaded) {
  const auto id = newId();
  begin(id);
  end(id);
  advance(59s);
  EXPECT_EQ(stored(id).state, ProfileState::Waiting);
  advance(2s);
  EXPECT_EQ(stored(id).state, ProfileState::Failed);
  EXPECT_EQ(stored(id).reason, FailReason::NoUpload);
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Closed);
}

TEST_F(JoinTest, NamesWhatEndedTheRequestWhenNothingIsUploaded) {
  for (const FailReason reason : {FailReason::ClientGone, FailReason::UpstreamLost}) {
    const auto id = newId();
    begin(id);
    end(id, std::string(nameOf(reason)));
    EXPECT_EQ(stored(id).state, ProfileState::Waiting);
    advance(61s);
    EXPECT_EQ(stored(id).reason, reason);
  }
}

TEST_F(JoinTest, FailsAtOnceWhenTheAgentRefuses) {
  const auto id = newId();
  begin(id);
  end(id, "refused", "agent-busy");
  EXPECT_EQ(stored(id).state, ProfileState::Failed);
  EXPECT_EQ(stored(id).reason, FailReason::Refused);
}

TEST_F(JoinTest, FailsAtOnceWhenASignedPartCannotBeRead) {
  for (const FailReason reason : {FailReason::Undecodable, FailReason::Oversized}) {
    const auto id = newId();
    begin(id);
    end(id);
    join_->onBadPart(id, reason, true);
    settle();
    EXPECT_EQ(stored(id).reason, reason);
    EXPECT_EQ(*upload(id, part("71-2")), PartOutcome::Stored) << "a better part still counts";
    EXPECT_EQ(stored(id).state, ProfileState::Stored);
    EXPECT_EQ(stored(id).reason, std::nullopt);
  }
}

TEST_F(JoinTest, BelievesUnsignedSizesOnlyWhenNothingElseComes) {
  const auto id = newId();
  begin(id);
  end(id);
  join_->onBadPart(id, FailReason::Oversized, false);
  settle();
  EXPECT_EQ(stored(id).state, ProfileState::Waiting);
  advance(61s);
  EXPECT_EQ(stored(id).reason, FailReason::Oversized);
}

TEST_F(JoinTest, RemembersABadPartUntilTheResponseEnds) {
  const auto id = newId();
  begin(id);
  join_->onBadPart(id, FailReason::Undecodable, true);
  settle();
  EXPECT_EQ(stored(id).state, ProfileState::Running);
  end(id);
  EXPECT_EQ(stored(id).reason, FailReason::Undecodable);
}

TEST_F(JoinTest, FailsAsUndecodableWhenThePartCannotBeMerged) {
  const auto id = newId();
  begin(id);
  end(id);
  assembler_.fail_with =
      proxy::Error{proxy::ErrorCode::Malformed, proxy::ErrorSource::Agent, {}, {}};
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Undecodable);
  advance(61s);
  EXPECT_EQ(stored(id).reason, FailReason::Undecodable);
}

TEST_F(JoinTest, KeepsUnaskedCapturesOutOfTheListUntilAPartComes) {
  const auto id = newId();
  begin(id);
  end(id, "", "no-agent");
  EXPECT_TRUE(stored(id).id.empty());
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);

  const auto silent = newId();
  begin(silent);
  end(silent, "", "no-agent");
  advance(31s);
  EXPECT_TRUE(stored(silent).id.empty());
  EXPECT_EQ(join_->find(silent.text()), nullptr);
}

TEST_F(JoinTest, SavesAnEndThatComesWhileThePartIsBeingStored) {
  const auto id = newId();
  begin(id);
  assembler_.hold = true;
  const auto outcome = upload(id, part("71-1"));
  end(id);
  EXPECT_EQ(stored(id).state, ProfileState::Waiting);
  assembler_.held();
  settle();
  EXPECT_EQ(*outcome, PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
}

TEST_F(JoinTest, DoesNotFailWhileAPartIsBeingStored) {
  const auto id = newId();
  begin(id);
  end(id);
  advance(59s);
  assembler_.hold = true;
  const auto outcome = upload(id, part("71-1"));
  advance(5s);
  EXPECT_EQ(stored(id).state, ProfileState::Waiting);
  assembler_.held();
  settle();
  EXPECT_EQ(*outcome, PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
}

TEST_F(JoinTest, FailsRunningOnesOfAFormerProcess) {
  const auto running = newId();
  const auto waiting = newId();
  begin(running);
  begin(waiting);
  end(waiting);
  start();
  join_->recover();
  settle();
  advance(6s);
  EXPECT_EQ(stored(running).state, ProfileState::Failed);
  EXPECT_EQ(stored(running).reason, FailReason::ControlLost);
  EXPECT_EQ(stored(waiting).state, ProfileState::Waiting);
  EXPECT_EQ(*upload(waiting, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(waiting).state, ProfileState::Stored);
}

TEST_F(JoinTest, FailsWaitingOnesOfAFormerProcessInTheirTime) {
  const auto id = newId();
  begin(id);
  end(id);
  start();
  join_->recover();
  settle();
  advance(62s);
  EXPECT_EQ(stored(id).reason, FailReason::NoUpload);
}

TEST_F(JoinTest, TakesUpACaptureWhoseEndTheProxyKept) {
  const auto early = newId();
  const auto late = newId();
  begin(early);
  begin(late);
  start();
  join_->recover();
  settle();
  end(early);
  advance(10s);
  EXPECT_EQ(stored(early).state, ProfileState::Waiting);
  EXPECT_EQ(stored(late).reason, FailReason::ControlLost);
  end(late);
  EXPECT_EQ(stored(late).state, ProfileState::Waiting);
  EXPECT_EQ(*upload(late, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(late).state, ProfileState::Stored);
}

TEST_F(JoinTest, FindsTheRecordOfAFormerProcessForAPart) {
  const auto id = newId();
  begin(id);
  end(id);
  start();
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
  EXPECT_EQ(stored(id).duration, Micros(12'500));
}

TEST_F(JoinTest, KeepsTheBodyThatAnotherProcessStoredBeforeTheEnd) {
  const auto id = newId();
  begin(id);
  const std::unique_ptr<Join> first = std::move(join_);
  start();
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  EXPECT_EQ(stored(id).state, ProfileState::Running);
  first->onCapture(capture(id, CaptureRecord::Phase::End));
  settle();
  const ProfileRecord record = stored(id);
  EXPECT_EQ(record.state, ProfileState::Stored);
  EXPECT_EQ(record.host, "web-1");
  EXPECT_EQ(record.duration, Micros(12'500));
  EXPECT_EQ(body(id), "[71-1]");
}

TEST_F(JoinTest, RefusesWhatComesForADeletedProfile) {
  const auto id = newId();
  begin(id);
  bool gone = false;
  store_->erase(std::string(id.text()),
                [&](const Result<>&) { executor_.post([&] { gone = true; }); });
  ASSERT_TRUE(executor_.runUntil([&] { return gone; }));
  join_->onErased(std::string(id.text()));
  end(id);
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Unknown);
  EXPECT_TRUE(stored(id).id.empty());
  EXPECT_EQ(join_->find(id.text()), nullptr);
}

TEST_F(JoinTest, ForgetsWhatIsSettled) {
  const auto id = newId();
  begin(id);
  end(id);
  upload(id, part("71-1"));
  advance(11 * 60s);
  EXPECT_EQ(join_->find(id.text()), nullptr);
  EXPECT_EQ(executor_.timers(), 0U);
  EXPECT_EQ(stored(id).state, ProfileState::Stored);
}

TEST_F(JoinTest, HoldsALimitedNumberOfParts) {
  for (size_t i = 0; i < Join::kHeldPartsMax; ++i) {
    EXPECT_FALSE(upload(newId(), part("71-1"))->has_value());
  }
  EXPECT_EQ(*upload(newId(), part("71-1")), PartOutcome::Busy);
}

TEST_F(JoinTest, TellsForAWhileThatTheStoreIsFull) {
  const auto id = newId();
  begin(id);
  end(id);
  assembler_.fail_with = proxy::Error{proxy::ErrorCode::Full, proxy::ErrorSource::Store, {}, {}};
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::StoreAway);
  EXPECT_TRUE(join_->storeFull());
  advance(11s);
  EXPECT_FALSE(join_->storeFull()) << "one more is tried";
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::StoreAway);
  assembler_.fail_with.reset();
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::Stored);
  EXPECT_FALSE(join_->storeFull());
}

TEST_F(JoinTest, NamesTheStoreWhenItTookNothing) {
  const auto id = newId();
  begin(id);
  end(id);
  assembler_.fail_with =
      proxy::Error{proxy::ErrorCode::Unavailable, proxy::ErrorSource::Store, {}, {}};
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::StoreAway);
  advance(61s);
  EXPECT_EQ(stored(id).reason, FailReason::Store);
}

}  // namespace
}  // namespace flamegate::control
