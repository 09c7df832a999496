// The join with a fake clock, a fake assembler and the real store in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/join.h"
#include "control/store/create_store.h"
#include "tests/control/api/fake_executor.h"

namespace flamegate::control {

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
    join_ = std::make_unique<Join>(executor_, *store_, assembler_, *this, [](const std::string&) {
      return std::vector<std::string>{"k"};
    });
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

}  // namespace flamegate::control
