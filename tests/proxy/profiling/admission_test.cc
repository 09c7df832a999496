#include "proxy/profiling/admission.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{1'000'000'000'000};
constexpr config::ProfileLimits kLimits{.concurrent = 3, .per_minute = 5, .per_route = 2};

class AdmissionTest : public testing::Test {
 protected:
  Admission::Outcome admit(std::string_view route, TimePoint now = kStart) {
    return Admission::admit(admission_, route, kLimits, seconds(30), now);
  }
  std::shared_ptr<Admission> admission_ = std::make_shared<Admission>();
};

TEST_F(AdmissionTest, HasPlacesForTheClusterAndForEachRoute) {
  const auto a = admit("/a");
  const auto b = admit("/a");
  EXPECT_TRUE(a.slot.held());
  EXPECT_FALSE(a.refusal);
  EXPECT_EQ(admit("/a").refusal, SkipReason::Busy);
  const auto c = admit("/b");
  EXPECT_TRUE(c.slot.held());
  EXPECT_EQ(admit("/c").refusal, SkipReason::Busy);
  EXPECT_FALSE(admit("/c").slot.held());
}

TEST_F(AdmissionTest, TakesPlacesBack) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(admit("/a").slot.held()) << "given back at once";
  EXPECT_EQ(admission_->inUse(kStart), 0U);
  auto first = admit("/a");
  AdmissionSlot moved = std::move(first.slot);
  EXPECT_FALSE(first.slot.held());
  EXPECT_EQ(admission_->inUse(kStart), 1U);
  moved.release();
  moved.release();
  EXPECT_EQ(admission_->inUse(kStart), 0U);
}

TEST_F(AdmissionTest, CountsAdmissionsOfTheLastMinute) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(admit("/a", kStart + seconds(i)).slot.held());
  EXPECT_EQ(admit("/a", kStart + seconds(59)).refusal, SkipReason::Rate);
  EXPECT_TRUE(admit("/a", kStart + seconds(60)).slot.held()) << "the first has left the window";
  EXPECT_EQ(admit("/a", kStart + seconds(60)).refusal, SkipReason::Rate);
}

TEST_F(AdmissionTest, RefusalsDoNotCount) {
  const auto a = admit("/a");
  const auto b = admit("/a");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(admit("/a").refusal, SkipReason::Busy);
  EXPECT_TRUE(admit("/b").slot.held());
}

TEST_F(AdmissionTest, PlacesRunOut) {
  auto endless = admit("/a");
  EXPECT_EQ(admission_->inUse(kStart + (seconds(30) - milliseconds(1))), 1U);
  EXPECT_EQ(admission_->inUse(kStart + seconds(30)), 0U);
  const auto next = admit("/a", kStart + seconds(30));
  endless.slot.release();
  EXPECT_EQ(admission_->inUse(kStart + seconds(30)), 1U)
      << "a late return takes nobody else's place";
}

TEST_F(AdmissionTest, IsExactOverThreads) {
  std::atomic<int> held{0}, held_max{0}, admitted{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const config::ProfileLimits limits{.concurrent = 3, .per_minute = 1000, .per_route = 3};
        const auto outcome = Admission::admit(admission_, "/a", limits, seconds(30), kStart);
        if (!outcome.slot.held()) continue;
        ++admitted;
        const int now_held = ++held;
        int seen = held_max.load();
        while (seen < now_held && !held_max.compare_exchange_weak(seen, now_held)) {
        }
        --held;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_LE(held_max.load(), 3);
  EXPECT_EQ(admitted.load(), 1000);
  EXPECT_EQ(admission_->inUse(kStart), 0U);
}

TEST(AdmissionBook, KeepsOneAdmissionACluster) {
  AdmissionBook book;
  EXPECT_EQ(book.open("app"), book.open("app"));
  EXPECT_NE(book.open("app"), book.open("api"));
}

}  // namespace
}  // namespace flamegate::proxy
