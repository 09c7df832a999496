// The thread that control's state lives on: posted functions, timers and the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "proxy/base/clock.h"

namespace flamegate::control {

using Millis = std::chrono::milliseconds;
using WallTime = std::chrono::sys_time<Millis>;

// Implementations: LoopExecutor on the event loop, and a hand-driven one in the tests.
// Thread: post() from any; everything else only on the executor's own.
class Executor {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;
  static constexpr TimerId kNoTimer = 0;

  virtual ~Executor() = default;

  // Runs the task once, later, never from inside this call. Tasks keep their order. Tasks that have
  // not run when the executor ends never run.
  virtual void post(Task task) = 0;

  // Runs the task once, not before the delay has passed. Never returns kNoTimer.
  virtual TimerId runAfter(Millis delay, Task task) = 0;
  // Forgets a timer and sets the id to kNoTimer. One that has run, or kNoTimer, is ignored.
  virtual void cancel(TimerId& id) = 0;

  virtual proxy::TimePoint monoNow() const = 0;  // never jumps, for waiting
  virtual WallTime wallNow() const = 0;          // for what is stored and shown
};

}  // namespace flamegate::control
