#include "proxy/profiling/sessions.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{1'000'000'000'000};

TEST(SessionTable, KnowsItsSessions) {
  SessionTable table;
  const std::string id = table.open(minutes(15), 2, std::nullopt, kStart);
  EXPECT_EQ(table.find(id, kStart).state, SessionState::Live);
  EXPECT_FALSE(table.find(id, kStart).grant);
  EXPECT_EQ(table.find("other", kStart).state, SessionState::None);
  EXPECT_EQ(table.find("", kStart).state, SessionState::None);
}

TEST(SessionTable, EndsByTimeAndByWord) {
  SessionTable table;
  const std::string id = table.open(minutes(15), 2, std::nullopt, kStart);
  EXPECT_EQ(table.find(id, kStart + (minutes(15) - seconds(1))).state, SessionState::Live);
  EXPECT_EQ(table.find(id, kStart + minutes(15)).state, SessionState::None);
  EXPECT_FALSE(table.spend(id, kStart + minutes(15)));
  table.end(id);
  EXPECT_EQ(table.find(id, kStart).state, SessionState::None);
  table.end(id);
  EXPECT_EQ(table.size(), 0U);
}

TEST(SessionTable, CountsItsBudget) {
  SessionTable table;
  const std::string id = table.open(minutes(1), 2, std::nullopt, kStart);
  EXPECT_TRUE(table.spend(id, kStart));
  EXPECT_TRUE(table.spend(id, kStart));
  EXPECT_FALSE(table.spend(id, kStart));
  EXPECT_EQ(table.find(id, kStart).state, SessionState::Exhausted);
  table.refund(id);
  EXPECT_EQ(table.find(id, kStart).state, SessionState::Live);
  EXPECT_TRUE(table.spend(id, kStart));
}

TEST(SessionTable, SpendsExactlyItsBudgetOverThreads) {
  SessionTable table;
  const std::string id = table.open(minutes(1), 500, std::nullopt, kStart);
  std::atomic<int> spent{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        if (table.spend(id, kStart)) ++spent;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(spent.load(), 500);
}

TEST(SessionTable, KeepsWhatATokenGave) {
  SessionTable table;
  const std::string id = table.open(
      minutes(1), 2, SessionGrant{agent::Right::View, "ann", "j1", "shop.example.com", 7}, kStart);
  const SessionView view = table.find(id, kStart);
  ASSERT_TRUE(view.grant);
  EXPECT_EQ(view.grant->rights, agent::Rights(agent::Right::View));
  EXPECT_EQ(view.grant->jti, "j1");
}

TEST(SessionTable, MakesRoomForNewOnes) {
  SessionTable table;
  const std::string next_to_end = table.open(seconds(30), 1, std::nullopt, kStart);
  for (size_t i = 1; i < SessionTable::kSessionsMax; ++i)
    table.open(minutes(1), 1, std::nullopt, kStart);
  const std::string latest = table.open(minutes(1), 1, std::nullopt, kStart);
  EXPECT_EQ(table.size(), SessionTable::kSessionsMax);
  EXPECT_EQ(table.find(next_to_end, kStart).state, SessionState::None);
  EXPECT_EQ(table.find(latest, kStart).state, SessionState::Live);
  table.open(minutes(1), 1, std::nullopt, kStart + minutes(1));
  EXPECT_EQ(table.size(), 1U) << "those that ended go first";
}

}  // namespace
}  // namespace flamegate::proxy
