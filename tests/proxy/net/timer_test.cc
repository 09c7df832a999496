#include "proxy/net/timer.h"

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{1'000'000'000'000};

// A wheel whose time stands still until it is moved.
struct Clockwork {
  TimePoint now = kStart;
  TimerWheel wheel{kStart};

  void pass(Duration time, Duration step = milliseconds(1)) {
    for (const TimePoint end = now + time; now < end;) {
      now = std::min(now + step, end);
      wheel.advance(now);
    }
  }
};

// Notes when it fired.
struct Alarm {
  explicit Alarm(Clockwork& made_of)
      : clockwork(made_of),
        timer(
            made_of.wheel, [](void* self) { static_cast<Alarm*>(self)->fire(); }, this) {}

  void fire() {
    fired.push_back(clockwork.now);
    if (then) then();
  }
  void in(Duration time) { timer.arm(clockwork.now + time); }

  Clockwork& clockwork;
  std::vector<TimePoint> fired;
  std::function<void()> then;
  Timer timer;
};

TEST(Timer, FiresOnceWithinATickAfterItsDeadline) {
  Clockwork clockwork;
  for (int ms = 1; ms < 400; ++ms) {
    Alarm alarm(clockwork);
    alarm.in(milliseconds(ms));
    const TimePoint deadline = alarm.timer.deadline();
    clockwork.pass(milliseconds(ms) + 3 * TimerWheel::kTick);
    ASSERT_EQ(alarm.fired.size(), 1u) << ms;
    EXPECT_GE(alarm.fired[0], deadline) << ms;
    EXPECT_LE(alarm.fired[0], deadline + TimerWheel::kTick) << ms;
    EXPECT_FALSE(alarm.timer.armed());
  }
}

TEST(Timer, FiresAtTheLaterDeadlineWhenArmedAgainLater) {
  Clockwork clockwork;
  Alarm alarm(clockwork);
  alarm.in(milliseconds(100));
  clockwork.pass(milliseconds(90));
  alarm.in(seconds(2));
  const TimePoint deadline = alarm.timer.deadline();
  clockwork.pass(seconds(5));
  ASSERT_EQ(alarm.fired.size(), 1u);
  EXPECT_GE(alarm.fired[0], deadline);
  EXPECT_LE(alarm.fired[0], deadline + TimerWheel::kTick);
}

TEST(Timer, FiresAtTheEarlierDeadlineWhenArmedAgainEarlier) {
  Clockwork clockwork;
  Alarm alarm(clockwork);
  alarm.in(seconds(10));
  clockwork.pass(seconds(1));
  alarm.in(milliseconds(100));
  const TimePoint deadline = alarm.timer.deadline();
  clockwork.pass(seconds(20));
  ASSERT_EQ(alarm.fired.size(), 1u);
  EXPECT_LE(alarm.fired[0], deadline + TimerWheel::kTick);
}

TEST(Timer, DoesNotFireWhenDisarmedAndMayBeArmedAnew) {
  Clockwork clockwork;
  Alarm alarm(clockwork);
  alarm.in(milliseconds(100));
  alarm.timer.disarm();
  alarm.in(milliseconds(300));
  alarm.timer.disarm();
  clockwork.pass(seconds(1));
  EXPECT_TRUE(alarm.fired.empty());
  alarm.in(milliseconds(10));
  clockwork.pass(seconds(1));
  EXPECT_EQ(alarm.fired.size(), 1u);
}

TEST(Timer, WaitsForDeadlinesBeyondOneTurnOfTheWheel) {
  Clockwork clockwork;
  for (const Duration time :
       {Duration(seconds(32)), Duration(seconds(33)), Duration(seconds(75)), Duration(hours(24))}) {
    Alarm alarm(clockwork);
    alarm.in(time);
    const TimePoint deadline = alarm.timer.deadline();
    clockwork.pass(time + seconds(1), milliseconds(50));
    ASSERT_EQ(alarm.fired.size(), 1u);
    EXPECT_GE(alarm.fired[0], deadline);
    EXPECT_LE(alarm.fired[0], deadline + 2 * TimerWheel::kTick);
  }
}

TEST(Timer, FiresOnceAfterTheWheelStoodStillForLong) {
  Clockwork clockwork;
  Alarm due(clockwork);
  Alarm later(clockwork);
  due.in(seconds(1));
  later.in(hours(2));
  const TimePoint deadline = later.timer.deadline();
  clockwork.pass(hours(1), hours(1));
  EXPECT_EQ(due.fired.size(), 1u);
  EXPECT_TRUE(later.fired.empty());
  clockwork.pass(hours(1) + seconds(1), milliseconds(60));
  ASSERT_EQ(later.fired.size(), 1u);
  EXPECT_GE(later.fired[0], deadline);
}

TEST(Timer, KeepsItsDeadlineWhenTheWheelWasIdleBefore) {
  Clockwork clockwork;
  ASSERT_TRUE(clockwork.wheel.idle());
  clockwork.now = clockwork.now + hours(5);  // nobody advanced the wheel meanwhile
  Alarm alarm(clockwork);
  alarm.in(milliseconds(500));
  const TimePoint deadline = alarm.timer.deadline();
  clockwork.pass(seconds(1));
  ASSERT_EQ(alarm.fired.size(), 1u);
  EXPECT_GE(alarm.fired[0], deadline);
  EXPECT_LE(alarm.fired[0], deadline + TimerWheel::kTick);
}

TEST(Timer, MayBeArmedAgainInsideItsCallback) {
  Clockwork clockwork;
  Alarm alarm(clockwork);
  alarm.then = [&] {
    if (alarm.fired.size() < 10) alarm.in(milliseconds(100));
  };
  alarm.in(milliseconds(100));
  clockwork.pass(seconds(3));
  EXPECT_EQ(alarm.fired.size(), 10u);
  EXPECT_TRUE(clockwork.wheel.idle());
}

TEST(Timer, MayBeDestroyedOrDisarmedInsideAnothersCallback) {
  Clockwork clockwork;
  auto first = std::make_unique<Alarm>(clockwork);
  auto second = std::make_unique<Alarm>(clockwork);
  Alarm third(clockwork);
  Alarm fourth(clockwork);
  first->then = [&] {
    second.reset();
    third.timer.disarm();
    fourth.in(seconds(1));
  };
  for (Alarm* alarm : {first.get(), second.get(), &third, &fourth}) alarm->in(milliseconds(100));
  clockwork.pass(milliseconds(500));
  EXPECT_EQ(first->fired.size(), 1u);
  EXPECT_TRUE(third.fired.empty());
  EXPECT_TRUE(fourth.fired.empty());
  clockwork.pass(seconds(1));
  EXPECT_EQ(fourth.fired.size(), 1u);
  EXPECT_TRUE(clockwork.wheel.idle());
}

TEST(TimerWheel, IsIdleWhenNoTimerIsLinked) {
  Clockwork clockwork;
  {
    Alarm alarm(clockwork);
    alarm.in(milliseconds(100));
    EXPECT_FALSE(clockwork.wheel.idle());
  }
  EXPECT_TRUE(clockwork.wheel.idle()) << "it went with its timer";
  Alarm alarm(clockwork);
  alarm.in(milliseconds(100));
  alarm.timer.disarm();
  clockwork.pass(seconds(1));
  EXPECT_TRUE(clockwork.wheel.idle());
}

TEST(TimerWheel, KeepsManyTimersThroughRandomChanges) {
  std::mt19937 random(11);
  Clockwork clockwork;
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<TimePoint> wanted(100);
  for (size_t i = 0; i < wanted.size(); ++i) alarms.push_back(std::make_unique<Alarm>(clockwork));
  for (int round = 0; round < 20'000; ++round) {
    const size_t i = random() % alarms.size();
    if (random() % 5 == 0) {
      alarms[i]->timer.disarm();
      wanted[i] = {};
    } else {
      alarms[i]->in(milliseconds(random() % 50'000 + 1));
      wanted[i] = alarms[i]->timer.deadline();
    }
    clockwork.pass(milliseconds(random() % 130 + 1), TimerWheel::kTick);
    for (size_t k = 0; k < alarms.size(); ++k) {
      if (!alarms[k]->fired.empty()) {
        ASSERT_TRUE(wanted[k].set() && wanted[k] <= clockwork.now) << "early, or twice";
        alarms[k]->fired.clear();
        wanted[k] = {};
      }
      ASSERT_FALSE(wanted[k].set() && wanted[k] + 3 * TimerWheel::kTick < clockwork.now) << "late";
    }
  }
}

}  // namespace
}  // namespace flamegate::proxy
