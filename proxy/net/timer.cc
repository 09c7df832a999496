#include "proxy/net/timer.h"

#include <algorithm>

namespace flamegate::proxy {

void Timer::arm(TimePoint deadline) {
  deadline_ = deadline;
  // A node that waits in a slot before the deadline is linked again when that slot is visited.
  if (linked() && linked_tick_ <= TimerWheel::toTick(deadline) + 1) return;
  wheel_.link(*this);
}

Timer::~Timer() {
  if (linked()) --wheel_.linked_;
}

void TimerWheel::link(Timer& timer) {
  if (timer.linked()) {
    timer.unlink();
  } else {
    ++linked_;
  }
  // The first tick that begins after the deadline, within one turn of the wheel.
  const int64_t due = toTick(timer.deadline_) + 1;
  timer.linked_tick_ = std::clamp(due, tick_ + 1, tick_ + kSlots - 1);
  slots_[static_cast<size_t>(timer.linked_tick_ % kSlots)].pushBack(timer);
}

void TimerWheel::advance(TimePoint now) {
  const int64_t target = toTick(now);
  // After a long pause one turn visits every slot.
  if (target - tick_ > kSlots) tick_ = target - kSlots;
  while (tick_ < target) {
    ++tick_;
    IntrusiveList<Timer> due;
    due.takeAll(slots_[static_cast<size_t>(tick_ % kSlots)]);
    while (Timer* timer = due.front()) visit(*timer, now);
  }
}

void TimerWheel::visit(Timer& timer, TimePoint now) {
  timer.unlink();
  --linked_;
  if (!timer.armed()) return;
  if (timer.deadline_ > now) {
    link(timer);
    return;
  }
  timer.disarm();
  timer.callback_(timer.context_);
}

}  // namespace flamegate::proxy
