#include "proxy/upstream/shared_limit.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

TEST(SharedLimit, IsExactWhenItIsSmall) {
  SharedLimit limit(3, 4);
  LimitShare a(limit);
  LimitShare b(limit);
  EXPECT_TRUE(a.take());
  EXPECT_TRUE(a.take());
  EXPECT_TRUE(b.take());
  EXPECT_FALSE(a.take());
  EXPECT_FALSE(b.take());
  a.give();
  EXPECT_TRUE(b.take());
  for (int i = 0; i < 2; ++i) b.give();
  a.give();
  EXPECT_EQ(limit.take(9), 3u);
}

TEST(SharedLimit, LeavesSevenEighthsToOneWorkerWhileOthersKeepSpares) {
  constexpr size_t kMax = 4096;
  constexpr size_t kWorkers = 4;
  SharedLimit limit(kMax, kWorkers);
  std::vector<std::unique_ptr<LimitShare>> others;
  for (size_t i = 1; i < kWorkers; ++i) {
    others.push_back(std::make_unique<LimitShare>(limit));
    for (int round = 0; round < 500; ++round) EXPECT_TRUE(others.back()->take());
    for (int round = 0; round < 500; ++round) others.back()->give();
  }
  LimitShare share(limit);
  size_t taken = 0;
  while (share.take()) ++taken;
  EXPECT_GE(taken, kMax * 7 / 8);
  EXPECT_LE(taken, kMax);
  others.clear();
  while (share.take()) ++taken;
  EXPECT_EQ(taken, kMax);
  for (size_t i = 0; i < taken; ++i) share.give();
}

TEST(SharedLimit, IsNeverPassedByWorkersAtOnce) {
  constexpr size_t kMax = 200;
  SharedLimit limit(kMax, 2);
  std::atomic<size_t> in_use{0};
  std::atomic<size_t> most{0};
  const auto work = [&] {
    LimitShare share(limit);
    size_t held = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (i % 3 != 2 && share.take()) {
        ++held;
        const size_t now = ++in_use;
        size_t seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
      } else if (held > 0) {
        --held;
        --in_use;
        share.give();
      }
    }
    for (; held > 0; --held) {
      --in_use;
      share.give();
    }
  };
  std::thread a(work);
  std::thread b(work);
  a.join();
  b.join();
  EXPECT_LE(most.load(), kMax);
  EXPECT_EQ(limit.take(kMax + 1), kMax);
}

}  // namespace
}  // namespace flamegate::proxy
