// The bounded queue and the thread behind Store, over a medium that the test holds up.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "control/store/memory_medium.h"
#include "control/store/profile_keeper.h"
#include "control/store/store.h"

namespace flamegate::control {
namespace {

using proxy::Error;
using proxy::ErrorCode;
using proxy::ErrorSource;

// Opens when the test says so, and fails commits while it is told to.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    wake_.notify_all();
    wake_.wait(lock, [this] { return open_; });
  }
  void waitUntilSomebodyWaits() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return waiting_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
  bool waiting_ = false;
};

struct Controls {
  Gate gate;
  std::atomic<bool> commits_fail{false};
  std::atomic<int> commits{0};
  std::atomic<int> probes{0};
};

// MemoryMedium behind a gate.
class HeldMedium final : public StoreMedium {
 public:
  explicit HeldMedium(Controls& controls) : controls_(controls) {}

  std::string_view kind() const override { return "held"; }
  proxy::Result<> open(RecordIndex& index, const Cutoff& cutoff, bool rebuild) override {
    return inner_.open(index, cutoff, rebuild);
  }
  proxy::Result<> refresh(RecordIndex& index) override { return inner_.refresh(index); }
  proxy::Result<> begin() override {
    controls_.gate.pass();
    return {};
  }
  proxy::Result<> commit() override {
    ++controls_.commits;
    if (!controls_.commits_fail) return {};
    return proxy::fail(ErrorCode::Full, ErrorSource::Store, "the disk is full");
  }
  proxy::Result<> modify(const std::string& id, const Modification& modification) override {
    return inner_.modify(id, modification);
  }
  proxy::Result<> erase(std::span<const std::string> ids) override { return inner_.erase(ids); }
  proxy::Result<std::vector<std::optional<std::string>>> documents(
      std::span<const std::string> ids) override {
    return inner_.documents(ids);
  }
  proxy::Result<std::optional<std::string>> body(const std::string& id) override {
    return inner_.body(id);
  }
  proxy::Result<> revoke(const RevokedToken& token, WallTime now) override {
    return inner_.revoke(token, now);
  }
  proxy::Result<std::vector<RevokedToken>> revoked(WallTime now) override {
    return inner_.revoked(now);
  }
  proxy::Result<> probe() override {
    ++controls_.probes;
    return {};
  }
  proxy::Result<bool> tidy(const Cutoff& cutoff) override { return inner_.tidy(cutoff); }

 private:
  Controls& controls_;
  MemoryMedium inner_;
};

std::unique_ptr<Store> heldStore(Controls& controls, QueueLimits limits) {
  limits.sweep_every = std::chrono::milliseconds(0);
  return std::make_unique<Store>(
      std::make_unique<ProfileKeeper>(std::make_unique<HeldMedium>(controls),
                                      ProfileKeeper::Limits{}, systemWallTime),
      limits);
}

ProfileRecord recordOf(int number) {
  ProfileRecord record;
  record.id = std::to_string(number);
  record.id.insert(0, kProfileIdSize - record.id.size(), '0');
  return record;
}

template <typename T>
std::pair<Done<T>, std::future<proxy::Result<T>>> outcome() {
  auto promise = std::make_shared<std::promise<proxy::Result<T>>>();
  auto future = promise->get_future();
  return {[promise](proxy::Result<T> result) { promise->set_value(std::move(result)); },
          std::move(future)};
}

// Puts one record that the thread takes and is held up with.
void occupy(Store& store, Controls& controls) {
  store.put(recordOf(0), std::nullopt, [](auto) {});
  controls.gate.waitUntilSomebodyWaits();
}

TEST(StoreQueue, RefusesAtOnceBeyondItsNumberOfCalls) {
  Controls controls;
  auto store = heldStore(controls, {.operations = 3});
  occupy(*store, controls);
  std::atomic<int> stored{0};
  std::optional<Error> refused;
  for (int i = 1; i <= 3; ++i) {
    store->put(recordOf(i), std::nullopt, [&stored](auto result) { stored += result ? 1 : 0; });
  }
  store->put(recordOf(4), std::nullopt, [&refused](auto result) { refused = result.error(); });
  ASSERT_TRUE(refused) << "called back before put() returned";
  EXPECT_EQ(refused->code, ErrorCode::Full);
  controls.gate.open();
  auto [done, stats] = outcome<StoreStats>();
  // There may be no room yet for this call; the held ones go first.
  while (stored < 3) std::this_thread::yield();
  store->stats(done);
  auto counted = stats.get();
  EXPECT_EQ(counted->queue_refused, 1u);
  EXPECT_EQ(counted->failures, 1u);
  EXPECT_EQ(counted->profiles, 4u);
  EXPECT_TRUE(counted->available) << "a full queue is not the medium's trouble";
}

TEST(StoreQueue, RefusesAtOnceBeyondItsBytes) {
  Controls controls;
  auto store = heldStore(controls, {.bytes = 100'000});
  occupy(*store, controls);
  std::vector<ErrorCode> refused;
  for (int i = 1; i <= 3; ++i) {
    store->put(recordOf(i), std::string(40'000, 'x'), [&refused](auto result) {
      if (!result) refused.push_back(result.error().code);
    });
  }
  EXPECT_EQ(refused, std::vector{ErrorCode::Full});
  controls.gate.open();
}

TEST(StoreQueue, CommitsWaitingWritesTogether) {
  Controls controls;
  auto store = heldStore(controls, {});
  occupy(*store, controls);
  for (int i = 1; i <= 100; ++i) store->put(recordOf(i), "body", [](auto) {});
  controls.gate.open();
  store.reset();
  EXPECT_EQ(controls.commits, 2);
}

TEST(StoreQueue, TakesAWholeGroupBackWhenItsCommitFails) {
  Controls controls;
  auto store = heldStore(controls, {});
  occupy(*store, controls);
  std::atomic<int> failed{0};
  for (int i = 1; i <= 5; ++i) {
    store->put(recordOf(i), "body", [&failed](auto result) {
      if (!result && result.error().code == ErrorCode::Full) ++failed;
    });
  }
  controls.commits_fail = true;
  controls.gate.open();
  auto [done, stats] = outcome<StoreStats>();
  store->stats(done);
  auto counted = stats.get();
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(counted->failures, 6u);
  EXPECT_FALSE(counted->available);
  EXPECT_EQ(counted->trouble, "the disk is full");
}

TEST(StoreQueue, IsAvailableAgainAfterAWriteOrSweepThatWorked) {
  Controls controls;
  controls.gate.open();
  controls.commits_fail = true;
  auto store = heldStore(controls, {});
  store->put(recordOf(1), "body", [](auto) {});
  auto [found, find_outcome] = outcome<ProfileRecord>();
  store->find(recordOf(1).id, found);
  static_cast<void>(find_outcome.get());
  auto [before, stats_before] = outcome<StoreStats>();
  store->stats(before);
  EXPECT_FALSE(stats_before.get()->available) << "a read shows nothing about writes";

  controls.commits_fail = false;
  auto [swept, sweep_outcome] = outcome<void>();
  store->sweep(swept);
  EXPECT_TRUE(sweep_outcome.get());
  EXPECT_EQ(controls.probes, 1);
  auto [after, stats_after] = outcome<StoreStats>();
  store->stats(after);
  EXPECT_TRUE(stats_after.get()->available);
}

TEST(StoreQueue, WorksTheQueueOffBeforeItEnds) {
  Controls controls;
  auto store = heldStore(controls, {});
  occupy(*store, controls);
  std::atomic<int> stored{0};
  for (int i = 1; i <= 50; ++i) {
    store->put(recordOf(i), "body", [&stored](auto result) { stored += result ? 1 : 0; });
  }
  controls.gate.open();
  store.reset();
  EXPECT_EQ(stored, 50);
}

}  // namespace
}  // namespace flamegate::control
