#include "control/loop_executor.h"

#include <utility>

namespace flamegate::control {

Executor::TimerId LoopExecutor::runAfter(Millis delay, Task task) {
  const TimerId id = ++last_id_;
  auto pending = std::make_unique<Pending>(*this, id, std::move(task));
  pending->timer.arm(monoNow() + delay);
  pending_.emplace(id, std::move(pending));
  return id;
}

void LoopExecutor::cancel(TimerId& id) { pending_.erase(std::exchange(id, kNoTimer)); }

void LoopExecutor::onTimer(void* context) {
  auto* pending = static_cast<Pending*>(context);
  // The entry goes first, so that the task may set and cancel timers freely.
  LoopExecutor& executor = pending->owner;
  auto node = executor.pending_.extract(pending->id);
  pending->task();
  executor.loop_.deleteLater(std::move(node.mapped()));
}

}  // namespace flamegate::control
