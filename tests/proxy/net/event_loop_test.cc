#include "proxy/net/event_loop.h"

#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

struct Noted final : Deletable {
  Noted(std::string& log_in, char mark_in, std::function<void()> then_in = {})
      : log(log_in), mark(mark_in), then(std::move(then_in)) {}
  ~Noted() override {
    log += mark;
    if (then) then();
  }
  std::string& log;
  char mark;
  std::function<void()> then;
};

struct Resumed final : Resumable {
  explicit Resumed(std::function<void()> then_in) : then(std::move(then_in)) {}
  void resume() override { then(); }
  std::function<void()> then;
};

TEST(EventLoop, RunsPostedWorkInItsOrder) {
  const auto loop = makeLoop();
  std::string log;
  for (char mark : {'a', 'b', 'c'}) loop->post([&log, mark] { log += mark; });
  EXPECT_EQ(log, "");
  loop->runOnce(true);
  EXPECT_EQ(log, "abc");
  loop->runOnce(false);
  EXPECT_EQ(log, "abc") << "once each";
}

TEST(EventLoop, RunsWorkThatWorkPosts) {
  const auto loop = makeLoop();
  std::string log;
  loop->post([&] {
    log += 'a';
    loop->post([&] { log += 'b'; });
  });
  loop->runOnce(true);
  loop->runOnce(true);
  EXPECT_EQ(log, "ab");
}

TEST(EventLoop, TakesWorkFromOtherThreadsAndStops) {
  const auto loop = makeLoop();
  std::string log;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop->post([&] { log += loop->inLoopThread() ? 'i' : 'o'; });
    loop->post([&] { loop->stop(); });
  });
  loop->run();
  other.join();
  EXPECT_EQ(log, std::string(1000, 'i'));
}

TEST(EventLoop, ResumesAfterTheBatchOnceAndInOrder) {
  const auto loop = makeLoop();
  std::string log;
  Resumed first([&] { log += '1'; });
  Resumed second([&] {
    log += '2';
    loop->resumeLater(first);  // for the next batch
  });
  loop->post([&] {
    loop->resumeLater(first);
    loop->resumeLater(second);
    loop->resumeLater(first);
    log += 'p';
  });
  loop->runOnce(true);
  EXPECT_EQ(log, "p12");
  loop->runOnce(true);
  EXPECT_EQ(log, "p121") << "something to resume does not wait for an event";
}

TEST(EventLoop, ForgetsAResumableThatIsDestroyed) {
  const auto loop = makeLoop();
  std::string log;
  auto second = std::make_unique<Resumed>([&] { log += '2'; });
  Resumed first([&] { second.reset(); });
  loop->resumeLater(first);
  loop->resumeLater(*second);
  loop->runOnce(true);
  EXPECT_EQ(log, "");
}

TEST(EventLoop, DeletesAtTheEndOfTheBatch) {
  const auto loop = makeLoop();
  std::string log;
  Resumed resumed([&] { log += 'r'; });
  loop->post([&] {
    loop->deleteLater(std::make_unique<Noted>(
        log, 'd', [&] { loop->deleteLater(std::make_unique<Noted>(log, 'e')); }));
    loop->resumeLater(resumed);
    log += 'p';
  });
  loop->runOnce(true);
  EXPECT_EQ(log, "prde");
}

TEST(EventLoop, DeletesWhatIsLeftWhenItEnds) {
  std::string log;
  {
    const auto loop = makeLoop();
    loop->deleteLater(std::make_unique<Noted>(log, 'd', [&log, raw = loop.get()] {
      raw->deleteLater(std::make_unique<Noted>(log, 'e'));
    }));
  }
  EXPECT_EQ(log, "de");
}

TEST(EventLoop, TellsEdgesOnceAndLevelsAgain) {
  const auto loop = makeLoop();
  SocketPair edge = makeSocketPair();
  SocketPair level = makeSocketPair();
  int edges = 0;
  int levels = 0;
  const auto count = [](void* counter, short) { ++*static_cast<int*>(counter); };
  Watch edge_watch;
  Watch level_watch;
  ASSERT_TRUE(loop->watch(edge.ours.get(), edge_watch, count, &edges));
  ASSERT_TRUE(loop->watchLevel(level.ours.get(), level_watch, count, &levels));
  loop->runOnce(false);
  EXPECT_EQ(edges, 1) << "writable from the start";
  sendSome(edge.peer.get(), "a");
  sendSome(level.peer.get(), "a");
  loop->runOnce(false);
  loop->runOnce(false);
  EXPECT_EQ(edges, 2);
  EXPECT_EQ(levels, 2);
  edge_watch.stop();
  EXPECT_FALSE(edge_watch.active());
  sendSome(edge.peer.get(), "b");
  loop->runOnce(false);
  EXPECT_EQ(edges, 2);
}

TEST(EventLoop, LetsAWatchStopItselfInItsCallback) {
  const auto loop = makeLoop();
  SocketPair pair = makeSocketPair();
  Watch watch;
  ASSERT_TRUE(loop->watchLevel(
      pair.ours.get(), watch, [](void* self, short) { static_cast<Watch*>(self)->stop(); },
      &watch));
  sendSome(pair.peer.get(), "a");
  loop->runOnce(true);
  EXPECT_FALSE(watch.active());
  loop->runOnce(false);
}

TEST(EventLoop, RefusesADescriptorThatCannotBeWatched) {
  const auto loop = makeLoop();
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Watch watch;
  const auto watched = loop->watch(
      file.get(), watch, [](void*, short) {}, nullptr);
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, ErrorCode::Io);
  EXPECT_FALSE(watch.active());
}

TEST(EventLoop, FiresTimersWhileNothingElseHappens) {
  const auto loop = makeLoop();
  int fired = 0;
  Timer timer(
      loop->timers(), [](void* count) { ++*static_cast<int*>(count); }, &fired);
  for (int round = 1; round <= 3; ++round) {
    const TimePoint deadline = loop->now() + std::chrono::milliseconds(1);
    timer.arm(deadline);
    runUntil(*loop, [&] { return fired == round; });
    EXPECT_GE(monotonicNow(), deadline);
  }
}

}  // namespace
}  // namespace flamegate::proxy
