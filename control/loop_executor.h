// Control's executor on an event loop.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "control/executor.h"
#include "proxy/net/event_loop.h"

namespace flamegate::control {

// Owner: control's main. Thread: the loop's, but for post(). Ends: before the loop.
class LoopExecutor final : public Executor {
 public:
  explicit LoopExecutor(proxy::EventLoop& loop) : loop_(loop) {}

  void post(Task task) override { loop_.post(std::move(task)); }
  TimerId runAfter(Millis delay, Task task) override;
  void cancel(TimerId& id) override;
  proxy::TimePoint monoNow() const override { return proxy::monotonicNow(); }
  WallTime wallNow() const override { return WallTime(Millis(proxy::unixMillis())); }

 private:
  struct Pending final : proxy::Deletable {
    Pending(LoopExecutor& executor, TimerId own_id, Task own_task)
        : owner(executor),
          id(own_id),
          task(std::move(own_task)),
          timer(executor.loop_.timers(), &LoopExecutor::onTimer, this) {}

    LoopExecutor& owner;
    TimerId id;
    Task task;
    proxy::Timer timer;
  };

  static void onTimer(void* context);

  proxy::EventLoop& loop_;
  TimerId last_id_ = kNoTimer;
  std::unordered_map<TimerId, std::unique_ptr<Pending>> pending_;
};

}  // namespace flamegate::control
