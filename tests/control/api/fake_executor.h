// An executor that the test drives: tasks run when it says so, time moves when it says so.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "control/executor.h"

namespace flamegate::control {

// Thread: post() from any, the rest from the test's.
class FakeExecutor final : public Executor {
 public:
  // Long enough for any machine; a condition that holds is noticed at once.
  static constexpr std::chrono::seconds kPatience{20};

  void post(Task task) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    wake_.notify_one();
  }
  TimerId runAfter(Millis delay, Task task) override {
    timers_.emplace(++last_id_, Timer{now_ + delay, std::move(task)});
    return last_id_;
  }
  void cancel(TimerId& id) override { timers_.erase(std::exchange(id, kNoTimer)); }
  proxy::TimePoint monoNow() const override { return now_; }
  WallTime wallNow() const override {
    return kStart + std::chrono::duration_cast<Millis>(now_ - kMonoStart);
  }

  // Runs what other threads post until the condition holds; false when it never does.
  template <typename Condition>
  bool runUntil(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait_until(lock, give_up, [&] { return !posted_.empty(); })) return false;
        task = std::move(posted_.front());
        posted_.pop_front();
      }
      task();
    }
    return true;
  }

  // Runs what has been posted so far, and what that posts.
  void runPosted() {
    while (true) {
      Task task;
      {
        const std::lock_guard lock(mutex_);
        if (posted_.empty()) return;
        task = std::move(posted_.front());
        posted_.pop_front();
      }
      task();
    }
  }

  // Moves the clock and fires what is due in order of its deadline, each at its own time. `settle`
  // is called after each.
  template <typename Settle>
  void advance(Millis by, Settle settle) {
    const proxy::TimePoint target = now_ + by;
    while (true) {
      auto next = std::min_element(
          timers_.begin(), timers_.end(),
          [](const auto& a, const auto& b) { return a.second.deadline < b.second.deadline; });
      if (next == timers_.end() || next->second.deadline > target) break;
      now_ = std::max(now_, next->second.deadline);
      auto node = timers_.extract(next);
      node.mapped().task();
      settle();
    }
    now_ = target;
  }
  size_t timers() const { return timers_.size(); }

 private:
  struct Timer {
    proxy::TimePoint deadline;
    Task task;
  };
  static constexpr proxy::TimePoint kMonoStart{1'000'000'000'000};
  static constexpr WallTime kStart{Millis(1'800'000'000'000)};

  proxy::TimePoint now_ = kMonoStart;
  TimerId last_id_ = kNoTimer;
  std::map<TimerId, Timer> timers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> posted_;  // guarded by mutex_
};

}  // namespace flamegate::control
