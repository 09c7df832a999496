// The join with a fake clock, a fake assembler and the real store in memory.
#include "control/join.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "control/records.h"
#include "control/store/create_store.h"
#include "tests/control/api/fake_executor.h"

namespace flamegate::control {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using agent::CaptureRecord;
using proxy::Result;

// Assembles when the test says so: the body is the list of the parts' names.
class FakeAssembler final : public PartAssembler {
 public:
  explicit FakeAssembler(Executor& executor) : executor_(executor) {}

  void assemble(Input input, AssembleDone done) override {
    ++calls;
    if (fail_with) {
      executor_.post([done, error = *fail_with] { done(proxy::fail(error)); });
      return;
    }
    Assembled out;
    out.body = input.stored_body.value_or("") + "[" + input.part->name + "]";
    out.samples = out.body.size();
    if (hold) {
      held = [done, out] { done(out); };
    } else {
      executor_.post([done, out] { done(out); });
    }
  }

  int calls = 0;
  bool hold = false;
  std::function<void()> held;
  std::optional<proxy::Error> fail_with;

 private:
  Executor& executor_;
};

class JoinTest : public testing::Test, public JoinEvents {
 protected:
  JoinTest() {
    config::Store config;
    config.kind = config::Store::Kind::Memory;
    StoreTuning tuning;
    tuning.clock = [] { return kStart; };
    tuning.queue.sweep_every = Millis(0);
    store_ = std::move(*createStore(config, tuning));
    start();
  }

  void onRecord(const ProfileRecord& record) override { seen_.push_back(record.state); }

  void start() {
    join_ = std::make_unique<Join>(executor_, *store_, assembler_, *this,
                                   [](const std::string&) { return std::vector<std::string>{"k"}; });
  }

  // Until store and executor have nothing left to do for each other.
  void settle() {
    for (int round = 0; round < 4; ++round) {
      bool reached = false;
      store_->stats([&](const Result<StoreStats>&) { executor_.post([&] { reached = true; }); });
      ASSERT_TRUE(executor_.runUntil([&] { return reached; }));
    }
  }
  void advance(Millis by) {
    executor_.advance(by, [this] { settle(); });
    settle();
  }

  agent::ProfileId newId(Millis issued = 0ms) {
    const WallTime at = executor_.wallNow() + issued;
    return agent::ProfileId::create(at.time_since_epoch().count(), {++last_random_, 7});
  }

  CaptureRecord capture(const agent::ProfileId& id, CaptureRecord::Phase phase) {
    CaptureRecord record;
    record.phase = phase;
    record.id = id;
    record.method = "GET";
    record.path = "/users/42";
    record.site = "shop.example";
    record.endpoint = "10.0.0.7:3000";
    record.service = "shop";
    record.kids = {"k"};
    record.started_at_ms = static_cast<uint64_t>(executor_.wallNow().time_since_epoch().count());
    record.status = 200;
    record.duration_us = 12'500;
    record.interval_us = 1000;
    return record;
  }
  void begin(const agent::ProfileId& id) {
    join_->onCapture(capture(id, CaptureRecord::Phase::Begin));
    settle();
  }
  void end(const agent::ProfileId& id, const std::string& failure = "",
           const std::string& skipped = "") {
    CaptureRecord record = capture(id, CaptureRecord::Phase::End);
    record.failure = failure;
    record.skipped = skipped;
    join_->onCapture(record);
    settle();
  }

  std::shared_ptr<Part> part(const std::string& name, const std::string& bytes = "bytes") {
    auto out = std::make_shared<Part>();
    out->name = name;
    out->hash = proxy::sha256(bytes);
    out->kid = "k";
    out->meta.agent = "python/1.0";
    out->meta.host = "web-1";
    out->meta.ticks = agent::Ticks{10, 9, 1};
    out->meta.overhead_ns = 5'000;
    return out;
  }
  // The outcome once it is known.
  std::shared_ptr<std::optional<PartOutcome>> upload(const agent::ProfileId& id,
                                                     std::shared_ptr<const Part> which) {
    auto outcome = std::make_shared<std::optional<PartOutcome>>();
    join_->onPart(id, std::move(which), [outcome](PartOutcome result) {
      EXPECT_FALSE(outcome->has_value());
      *outcome = result;
    });
    settle();
    return outcome;
  }

  // The record as the store has it; an empty id when there is none.
  ProfileRecord stored(const agent::ProfileId& id) {
    std::optional<Result<ProfileRecord>> found;
    store_->find(std::string(id.text()), [&](Result<ProfileRecord> result) {
      executor_.post([&, result] { found = result; });
    });
    EXPECT_TRUE(executor_.runUntil([&] { return found.has_value(); }));
    return *found ? **found : ProfileRecord();
  }
  std::string body(const agent::ProfileId& id) {
    std::optional<Result<std::string>> found;
    store_->body(std::string(id.text()), [&](Result<std::string> result) {
      executor_.post([&, result] { found = result; });
    });
    EXPECT_TRUE(executor_.runUntil([&] { return found.has_value(); }));
    return *found ? **found : "";
  }

  static constexpr WallTime kStart{Millis(1'800'000'000'000)};

  FakeExecutor executor_;
  std::unique_ptr<Store> store_;
  FakeAssembler assembler_{executor_};
  std::unique_ptr<Join> join_;
  std::vector<ProfileState> seen_;
  uint64_t last_random_ = 0;
};

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
  EXPECT_EQ(seen_, (std::vector{ProfileState::Running, ProfileState::Waiting, ProfileState::Stored}));
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
  assembler_.fail_with = proxy::Error{proxy::ErrorCode::Malformed, proxy::ErrorSource::Agent, {}, {}};
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
  assembler_.fail_with = proxy::Error{proxy::ErrorCode::Unavailable, proxy::ErrorSource::Store, {}, {}};
  EXPECT_EQ(*upload(id, part("71-1")), PartOutcome::StoreAway);
  advance(61s);
  EXPECT_EQ(stored(id).reason, FailReason::Store);
}

// ---- Waiting for records ------------------------------------------------------------------------

class RecordsTest : public JoinTest {
 protected:
  void onRecord(const ProfileRecord& record) override { records_.onRecord(record); }

  std::shared_ptr<std::optional<Result<ProfileRecord>>> await(const agent::ProfileId& id,
                                                              Millis wait) {
    auto result = std::make_shared<std::optional<Result<ProfileRecord>>>();
    records_.await(std::string(id.text()), wait, [result](Result<ProfileRecord> found) {
      EXPECT_FALSE(result->has_value());
      *result = std::move(found);
    });
    settle();
    return result;
  }

  Records records_{executor_, *store_, *join_};
};

TEST_F(RecordsTest, AnswersAtOnceWithoutAWait) {
  const auto id = newId();
  EXPECT_EQ((*await(id, 0s))->error().code, proxy::ErrorCode::NotFound);
  begin(id);
  EXPECT_EQ((**await(id, 0s))->state, ProfileState::Running);
}

TEST_F(RecordsTest, WaitsForARecordThatHasNotArrivedYet) {
  const auto id = newId();
  const auto result = await(id, 10s);
  EXPECT_FALSE(result->has_value());
  begin(id);
  end(id);
  EXPECT_FALSE(result->has_value());
  upload(id, part("71-1"));
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((**result)->state, ProfileState::Stored);
  EXPECT_EQ((**result)->bytes, 6U);
  EXPECT_EQ(records_.waiting(), 0U);
}

TEST_F(RecordsTest, GivesThePresentStateWhenTheTimeIsUp) {
  const auto id = newId();
  begin(id);
  const auto known = await(id, 5s);
  const auto unknown = await(newId(), 5s);
  advance(6s);
  EXPECT_EQ((**known)->state, ProfileState::Running);
  EXPECT_EQ((*unknown)->error().code, proxy::ErrorCode::NotFound);
}

TEST_F(RecordsTest, WakesWaitersOnFailure) {
  const auto id = newId();
  begin(id);
  const auto result = await(id, 10s);
  end(id, "refused", "agent-off");
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((**result)->reason, FailReason::Refused);
}

}  // namespace
}  // namespace flamegate::control
