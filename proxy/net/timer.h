// Deadlines on a hashed wheel: arming later and disarming cost a store, firing is to the tick.
#pragma once

#include <array>

#include "proxy/base/clock.h"
#include "proxy/base/intrusive_list.h"

namespace flamegate::proxy {

class TimerWheel;

// One deadline. Fires once for each arming, on the loop's thread, at the deadline or up to one tick
// (64 ms) later; inside the callback it may be armed again or its owner may be handed to deleteLater.
// Owner: the object that waits. Ends: with it; a pending deadline is then forgotten.
class Timer : private ListNode<> {
 public:
  using Callback = void (*)(void* context);

  Timer(TimerWheel& wheel, Callback callback, void* context)
      : wheel_(wheel), callback_(callback), context_(context) {}
  ~Timer();

  // Replaces an earlier deadline.
  void arm(TimePoint deadline);
  void disarm() { deadline_ = {}; }
  bool armed() const { return deadline_.set(); }
  TimePoint deadline() const { return deadline_; }

 private:
  friend class TimerWheel;
  friend class IntrusiveList<Timer>;

  TimerWheel& wheel_;
  Callback callback_;
  void* context_;
  TimePoint deadline_;     // zero: disarmed; the node may stay in its slot until that comes round
  int64_t linked_tick_ = 0;  // the tick at which the slot that holds us is visited
};

// 512 slots of 64 ms; a deadline beyond one turn waits in the last slot and is linked again there.
// Owner: an EventLoop. Thread: its loop's.
class TimerWheel {
 public:
  static constexpr Duration kTick = std::chrono::milliseconds(64);

  explicit TimerWheel(TimePoint now) : tick_(toTick(now)) {}

  // Fires what is due. Call at least once a tick while `!idle()`.
  void advance(TimePoint now);
  // Whether no timer is linked, so that nobody needs to call advance().
  bool idle() const { return linked_ == 0; }

 private:
  friend class Timer;
  static constexpr int64_t kSlots = 512;

  static int64_t toTick(TimePoint at) { return at.ns / kTick.count(); }
  void link(Timer& timer);
  void visit(Timer& timer, TimePoint now);

  int64_t tick_;  // the last one visited
  size_t linked_ = 0;
  std::array<IntrusiveList<Timer>, kSlots> slots_;
};

}  // namespace flamegate::proxy
