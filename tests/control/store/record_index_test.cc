#include "control/store/record_index.h"

#include <gtest/gtest.h>

namespace flamegate::control {
namespace {

constexpr WallTime kNow{Millis(1'767'225'600'000)};
const Cutoff kDay{kNow - std::chrono::hours(24), kNow};

std::string idOf(int number) {
  char text[32];
  std::snprintf(text, sizeof text, "%020d", number);
  return text;
}

Summary summaryOf(int number) {
  Summary summary;
  summary.id = idOf(number);
  summary.state = ProfileState::Stored;
  summary.started_at = kNow + Millis(number);
  summary.stored_at = kNow;
  summary.bytes = 100;
  summary.method = "GET";
  summary.path = "/Path/" + std::to_string(number);
  summary.route = "GET /Path/:n";
  summary.host = "host";
  return summary;
}

TEST(RecordIndex, EvictsInTheOrderOfArrivalWhateverTheClockSaid) {
  RecordIndex index;
  for (int number : {3, 1, 2}) index.put(summaryOf(number));
  Summary changed = summaryOf(3);
  changed.stored_at = kNow + std::chrono::hours(1);
  index.put(changed);
  EXPECT_EQ(index.findFirstUnpinned(), idOf(3));
  changed.pinned_until = kNow + std::chrono::hours(1);
  index.put(changed);
  EXPECT_EQ(index.findFirstUnpinned(), idOf(1));
  index.erase(idOf(1));
  index.put(summaryOf(1));
  EXPECT_EQ(index.findFirstUnpinned(), idOf(2)) << "the slot of an erased one is taken again";
}

TEST(RecordIndex, CountsWhatItHolds) {
  RecordIndex index;
  for (int number = 0; number < 10; ++number) index.put(summaryOf(number));
  Summary pinned = summaryOf(1);
  pinned.pinned_until = kNow + std::chrono::hours(1);
  pinned.bytes = 250;
  index.put(pinned);
  index.erase(idOf(2));
  index.erase(idOf(2));
  EXPECT_EQ(index.size(), 9u);
  EXPECT_EQ(index.pinned(), 1u);
  EXPECT_EQ(index.bytes(), 8 * 100u + 250u);
  index.clear();
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.bytes(), 0u);
  EXPECT_EQ(index.findOldest(), std::nullopt);
}

TEST(RecordIndex, SortsMissingValuesAsTheSmallest) {
  RecordIndex index;
  for (int number = 1; number <= 3; ++number) index.put(summaryOf(number));
  Summary known = summaryOf(4);
  known.duration = Micros(0);
  index.put(known);
  ListQuery query;
  query.sort = SortField::Duration;
  EXPECT_EQ(index.list(query, kDay)->ids, (std::vector{idOf(4), idOf(3), idOf(2), idOf(1)}));
  query.descending = false;
  EXPECT_EQ(index.list(query, kDay)->ids, (std::vector{idOf(1), idOf(2), idOf(3), idOf(4)}));
}

TEST(RecordIndex, PagesStayAlignedWhileRecordsComeAndGo) {
  RecordIndex index;
  for (int number = 1; number <= 6; ++number) index.put(summaryOf(number));
  ListQuery query;
  query.limit = 2;
  auto first = index.list(query, kDay);
  ASSERT_EQ(first->ids, (std::vector{idOf(6), idOf(5)}));
  index.put(summaryOf(7));
  index.erase(idOf(5));
  query.cursor = first->next;
  EXPECT_EQ(index.list(query, kDay)->ids, (std::vector{idOf(4), idOf(3)}));
}

TEST(RecordIndex, GivesNoCursorAfterTheLastRecord) {
  RecordIndex index;
  for (int number = 1; number <= 4; ++number) index.put(summaryOf(number));
  ListQuery query;
  query.limit = 4;
  EXPECT_EQ(index.list(query, kDay)->next, "");
  query.limit = 3;
  query.cursor = index.list(query, kDay)->next;
  ASSERT_NE(query.cursor, "");
  EXPECT_EQ(index.list(query, kDay)->next, "");
}

TEST(RecordIndex, CutsTheLimitToItsRange) {
  RecordIndex index;
  for (int number = 0; number < 600; ++number) index.put(summaryOf(number));
  ListQuery query;
  query.limit = 0;
  EXPECT_EQ(index.list(query, kDay)->ids.size(), 1u);
  query.limit = 100'000;
  EXPECT_EQ(index.list(query, kDay)->ids.size(), kListLimitMax);
}

TEST(RecordIndex, SearchesWithinFieldsAndWithoutCase) {
  RecordIndex index;
  index.put(summaryOf(17));
  const auto total = [&index](std::string text) {
    ListQuery query;
    query.q = std::move(text);
    return index.list(query, kDay)->total;
  };
  EXPECT_EQ(total("pATH/17"), 1u);
  EXPECT_EQ(total("get /path"), 1u);
  EXPECT_EQ(total("HOST"), 1u);
  EXPECT_EQ(total("0017"), 1u);
  EXPECT_EQ(total("17\nget"), 0u);
  EXPECT_EQ(total("path/18"), 0u);
}

TEST(RecordIndex, LeavesExpiredRecordsOut) {
  RecordIndex index;
  index.put(summaryOf(1));
  Summary pinned = summaryOf(2);
  pinned.pinned_until = kNow + std::chrono::hours(72);
  index.put(pinned);
  const Cutoff later{kNow + std::chrono::hours(24), kNow + std::chrono::hours(48)};
  EXPECT_EQ(index.list({}, later)->ids, std::vector{idOf(2)});
  EXPECT_EQ(index.findExpired(later, 10), std::vector{idOf(1)});
  EXPECT_EQ(index.groups(GroupBy::Route, {}, 10, later).at(0).profiles, 1u);
  EXPECT_EQ(index.findPinnedUntilBefore(kNow + std::chrono::hours(73), 10), std::vector{idOf(2)});
}

}  // namespace
}  // namespace flamegate::control
