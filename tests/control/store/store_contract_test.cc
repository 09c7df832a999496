// What every store promises, checked on all of them: memory, SQLite, and real Redis servers without
// a login, with a password, and with a user of their own in database 3.
#include <algorithm>

#include "tests/control/store/store_support.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using std::chrono::hours;
using std::chrono::seconds;

enum class Subject { Memory, Embedded, Redis, RedisPassword, RedisUser };

std::string nameOfSubject(const testing::TestParamInfo<Subject>& info) {
  constexpr const char* kNames[] = {"Memory", "Embedded", "Redis", "RedisPassword", "RedisUser"};
  return kNames[static_cast<int>(info.param)];
}

class StoreContract : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    const bool redis = GetParam() != Subject::Memory && GetParam() != Subject::Embedded;
    if (redis && !RedisServer::available()) GTEST_SKIP() << "no redis-server";
    if (redis) startRedis();
    config_.retention.age = hours(24);
    if (GetParam() == Subject::Memory) config_.kind = config::Store::Kind::Memory;
    if (GetParam() == Subject::Embedded) config_.path = dir_.file("store.db");
    open();
  }

  void startRedis() {
    server_ = std::make_unique<RedisServer>();
    if (GetParam() == Subject::RedisPassword) {
      server_->command({"CONFIG", "SET", "requirepass", "p@ss:w/rd%#"});
      server_->setLogin("", "p@ss:w/rd%#");
    }
    if (GetParam() == Subject::RedisUser) {
      server_->command(
          {"ACL", "SETUSER", "gate", "on", ">s3cret", "~fg:*", "+@all", "-@dangerous"});
      server_->setLogin("gate", "s3cret");
    }
    config_ = server_->config();
    if (GetParam() == Subject::RedisUser) config_.redis.database = 3;
  }

  void open() {
    auto store = createStore(config_, manualTuning(clock_.asClock()));
    ASSERT_TRUE(store) << store.error().detail;
    store_ = WaitingStore(std::move(*store));
  }

  void reopen() {
    store_.close();
    open();
  }

  void fill(uint64_t count) {
    for (uint64_t i = 1; i <= count; ++i) {
      ASSERT_TRUE(store_.put(testRecord(i, clock_.now() + seconds(i)), testBody(100)));
    }
  }

  TempDir dir_;
  std::unique_ptr<RedisServer> server_;
  FakeWallClock clock_;
  config::Store config_;
  WaitingStore store_;
};

TEST_P(StoreContract, GivesBackWhatWasPut) {
  ProfileRecord record = testRecord(1, clock_.now());
  const std::string body = testBody(12 * 1024);
  ASSERT_TRUE(store_.put(record, body));
  auto found = store_.find(record.id);
  ASSERT_TRUE(found) << found.error().detail;
  EXPECT_EQ(found->stored_at, clock_.now());
  record.bytes = body.size();
  record.stored_at = found->stored_at;
  EXPECT_EQ(*found, record);
  EXPECT_EQ(store_.body(record.id).value_or(""), body);
}

TEST_P(StoreContract, KeepsBodiesOfAllBytesAndOfNoByte) {
  std::string all(256, '\0');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
  ASSERT_TRUE(store_.put(testRecord(1), all));
  ASSERT_TRUE(store_.put(testRecord(2), ""));
  EXPECT_EQ(store_.body(testId(1)).value_or("?"), all);
  EXPECT_EQ(store_.body(testId(2)).value_or("?"), "");
}

TEST_P(StoreContract, ReportsWhatIsNotThere) {
  EXPECT_EQ(store_.find(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.body(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.erase(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.pin(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.unpin(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.update(testId(1), [](ProfileRecord&) {}).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(store_.put(testRecord(1)));
  EXPECT_EQ(store_.body(testId(1)).error().code, ErrorCode::NotFound);
}

TEST_P(StoreContract, RefusesIdsThatAreNone) {
  ProfileRecord record = testRecord(1);
  record.id = "../../etc/passwd";
  EXPECT_EQ(store_.put(record).error().code, ErrorCode::Malformed);
  EXPECT_EQ(store_.find("").error().code, ErrorCode::Malformed);
  EXPECT_EQ(store_.body("0123456789ABCDEFGHIJ").error().code, ErrorCode::Malformed);
}

TEST_P(StoreContract, UpdatesRecordAndBodyAsOneStep) {
  ProfileRecord record = testRecord(1, clock_.now());
  record.state = ProfileState::Waiting;
  ASSERT_TRUE(store_.put(record));
  auto updated = store_.update(
      record.id,
      [](ProfileRecord& changed) {
        changed.state = ProfileState::Stored;
        changed.samples = 77;
        changed.id = testId(9);
        changed.bytes = 1;
        changed.pinned_until = WallTime(Millis(1));
      },
      "body");
  ASSERT_TRUE(updated) << updated.error().detail;
  EXPECT_EQ(updated->state, ProfileState::Stored);
  EXPECT_EQ(updated->id, record.id);
  EXPECT_EQ(updated->bytes, 4u);
  EXPECT_EQ(updated->pinned_until, std::nullopt);
  EXPECT_EQ(*store_.find(record.id), *updated);
  EXPECT_EQ(store_.body(record.id).value_or(""), "body");
}

TEST_P(StoreContract, KeepsTheBodyAndAgeWhenPutAgainWithoutOne) {
  ASSERT_TRUE(store_.put(testRecord(1), "body"));
  const auto stored_at = store_.find(testId(1))->stored_at;
  clock_.advance(hours(1));
  ProfileRecord again = testRecord(1);
  again.route = "GET /other";
  ASSERT_TRUE(store_.put(again));
  EXPECT_EQ(store_.find(testId(1))->stored_at, stored_at);
  EXPECT_EQ(store_.find(testId(1))->route, "GET /other");
  EXPECT_EQ(store_.find(testId(1))->bytes, 4u);
  EXPECT_EQ(store_.body(testId(1)).value_or(""), "body");
}

TEST_P(StoreContract, ErasesRecordAndBody) {
  fill(2);
  ASSERT_TRUE(store_.erase(testId(1)));
  EXPECT_EQ(store_.find(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.body(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(idsOf(*store_.list()), std::vector{testId(2)});
  EXPECT_EQ(store_.stats()->profiles, 1u);
}

TEST_P(StoreContract, PagesThroughAllRecordsOnceInEachOrder) {
  fill(23);
  for (SortField sort : {SortField::StartedAt, SortField::Duration, SortField::Samples}) {
    for (bool descending : {true, false}) {
      ListQuery query;
      query.sort = sort;
      query.descending = descending;
      query.limit = 5;
      std::vector<std::string> ids;
      do {
        auto page = store_.list(query);
        ASSERT_TRUE(page) << page.error().detail;
        EXPECT_EQ(page->total, 23u);
        for (std::string& id : idsOf(*page)) ids.push_back(std::move(id));
        query.cursor = page->next;
      } while (!query.cursor.empty());
      ASSERT_EQ(ids.size(), 23u);
      if (descending) std::reverse(ids.begin(), ids.end());
      for (uint64_t i = 0; i < 23; ++i) EXPECT_EQ(ids[i], testId(i + 1));
    }
  }
}

TEST_P(StoreContract, FiltersByEachField) {
  fill(30);
  const auto total = [this](auto set) {
    ListQuery query;
    set(query);
    auto page = store_.list(query);
    return page ? page->total : 999;
  };
  EXPECT_EQ(total([](ListQuery& q) { q.route = "GET /shop/items/:id"; }), 30u);
  EXPECT_EQ(total([](ListQuery& q) { q.route = "GET /"; }), 0u);
  EXPECT_EQ(total([](ListQuery& q) { q.host = "host-1"; }), 10u);
  EXPECT_EQ(total([](ListQuery& q) { q.service = "shop"; }), 30u);
  EXPECT_EQ(total([](ListQuery& q) { q.status = StatusRange{404, 404}; }), 6u);
  EXPECT_EQ(total([](ListQuery& q) { q.status = StatusRange{200, 299}; }), 24u);
  EXPECT_EQ(total([](ListQuery& q) { q.state = ProfileState::Failed; }), 0u);
  EXPECT_EQ(total([](ListQuery& q) { q.trigger = Trigger::Campaign; }), 15u);
  EXPECT_EQ(total([](ListQuery& q) { q.campaign = "c1"; }), 0u);
  EXPECT_EQ(total([](ListQuery& q) { q.min_duration = Micros(20'250); }), 11u);
  EXPECT_EQ(total([this](ListQuery& q) { q.from = clock_.now() + seconds(11); }), 20u);
  EXPECT_EQ(total([this](ListQuery& q) { q.to = clock_.now() + seconds(11); }), 10u);
  EXPECT_EQ(total([](ListQuery& q) { q.q = "ITEMS/7"; }), 1u);
  EXPECT_EQ(total([](ListQuery& q) { q.q = "host-2"; }), 10u);
  EXPECT_EQ(total([](ListQuery& q) {
              q.q = "items/1";
              q.host = "host-1";
              q.status = StatusRange{200, 299};
            }),
            4u);
}

TEST_P(StoreContract, ListsContinuousProfilesOnlyWhenAsked) {
  fill(2);
  ProfileRecord continuous = testRecord(3);
  continuous.kind = ProfileKind::Continuous;
  ASSERT_TRUE(store_.put(continuous, "body"));
  ListQuery query;
  EXPECT_EQ(store_.list(query)->total, 2u);
  query.kind = ProfileKind::Continuous;
  EXPECT_EQ(idsOf(*store_.list(query)), std::vector{testId(3)});
  query.kind = std::nullopt;
  EXPECT_EQ(store_.list(query)->total, 3u);
}

TEST_P(StoreContract, RefusesCursorsOfAnotherList) {
  fill(3);
  ListQuery query;
  query.limit = 1;
  query.cursor = store_.list(query)->next;
  ASSERT_FALSE(query.cursor.empty());
  query.sort = SortField::Samples;
  EXPECT_EQ(store_.list(query).error().code, ErrorCode::Malformed);
  query.cursor = "garbage";
  EXPECT_EQ(store_.list(query).error().code, ErrorCode::Malformed);
}

TEST_P(StoreContract, GroupsByRouteHostAndService) {
  fill(9);
  auto hosts = store_.groups(GroupBy::Host);
  ASSERT_TRUE(hosts);
  ASSERT_EQ(hosts->size(), 3u);
  const Group expected{"host-0", 3, 3, clock_.now() + seconds(9), Micros(18'750), Micros(9250)};
  EXPECT_EQ(hosts->front(), expected);
  EXPECT_EQ(store_.groups(GroupBy::Route)->size(), 1u);
  EXPECT_EQ(store_.groups(GroupBy::Host, {}, 2)->size(), 2u);
}

TEST_P(StoreContract, CountsWhatItHolds) {
  fill(4);
  ASSERT_TRUE(store_.pin(testId(2)));
  auto stats = store_.stats();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->profiles, 4u);
  EXPECT_EQ(stats->pinned, 1u);
  EXPECT_EQ(stats->puts, 4u);
  EXPECT_GT(stats->bytes, 400u);
  EXPECT_LT(stats->bytes, 8000u);
  EXPECT_EQ(stats->oldest, clock_.now());
  EXPECT_TRUE(stats->available);
  EXPECT_EQ(stats->failures, 0u);
}

TEST_P(StoreContract, ForgetsProfilesOfAge) {
  fill(3);
  clock_.advance(hours(23));
  ASSERT_TRUE(store_.put(testRecord(4), "young"));
  EXPECT_EQ(store_.list()->total, 4u);
  clock_.advance(hours(2));
  EXPECT_EQ(store_.find(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store_.body(testId(1)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(idsOf(*store_.list()), std::vector{testId(4)});
  ASSERT_TRUE(store_.sweep());
  auto stats = store_.stats();
  EXPECT_EQ(stats->profiles, 1u);
  EXPECT_EQ(stats->evicted_age, 3u);
}

TEST_P(StoreContract, KeepsPinnedProfilesAndRenewsTheirPin) {
  fill(2);
  auto pinned = store_.pin(testId(1));
  ASSERT_TRUE(pinned);
  EXPECT_EQ(pinned->pinned_until, clock_.now() + kPinTtl);
  for (int month = 0; month < 5; ++month) {
    clock_.advance(hours(30 * 24));
    ASSERT_TRUE(store_.sweep());
  }
  EXPECT_EQ(idsOf(*store_.list()), std::vector{testId(1)});
  EXPECT_EQ(store_.find(testId(1))->pinned_until, clock_.now() + kPinTtl);
  EXPECT_EQ(store_.body(testId(1)).value_or(""), testBody(100));

  auto unpinned = store_.unpin(testId(1));
  ASSERT_TRUE(unpinned);
  EXPECT_EQ(unpinned->pinned_until, std::nullopt);
  ASSERT_TRUE(store_.sweep());
  EXPECT_EQ(store_.find(testId(1)).error().code, ErrorCode::NotFound);
}

TEST_P(StoreContract, RefusesPinsWhileTheyAreSwitchedOff) {
  fill(1);
  ASSERT_TRUE(store_.pin(testId(1)));
  config_.retention.pinned = false;
  if (GetParam() == Subject::Memory) return;
  reopen();
  EXPECT_EQ(store_.pin(testId(1)).error().code, ErrorCode::Unsupported);
  ASSERT_TRUE(store_.sweep());
  EXPECT_EQ(store_.find(testId(1))->pinned_until, std::nullopt);
}

TEST_P(StoreContract, EvictsTheFirstToComeOverTheNumber) {
  config_.retention.profiles_max = 3;
  reopen();
  fill(2);
  ASSERT_TRUE(store_.pin(testId(1)));
  for (uint64_t i = 3; i <= 6; ++i) ASSERT_TRUE(store_.put(testRecord(i), "body"));
  ListQuery query;
  query.sort = SortField::Samples;
  query.descending = false;
  EXPECT_EQ(idsOf(*store_.list(query)), (std::vector{testId(1), testId(5), testId(6)}));
  EXPECT_EQ(store_.stats()->evicted_count, 3u);
  EXPECT_EQ(store_.body(testId(2)).error().code, ErrorCode::NotFound);
}

TEST_P(StoreContract, EvictsTheFirstToComeOverTheBytes) {
  config_.retention.bytes_max = 50'000;
  reopen();
  for (uint64_t i = 1; i <= 6; ++i) ASSERT_TRUE(store_.put(testRecord(i), testBody(15'000)));
  auto stats = store_.stats();
  EXPECT_LE(stats->bytes, 50'000u);
  EXPECT_EQ(stats->profiles, 3u);
  EXPECT_EQ(stats->evicted_bytes, 3u);
  EXPECT_TRUE(store_.find(testId(6)));
  EXPECT_EQ(store_.put(testRecord(7), testBody(60'000)).error().code, ErrorCode::TooLarge);
}

TEST_P(StoreContract, SurvivesTheClockGoingBackAnHour) {
  config_.retention.profiles_max = 4;
  reopen();
  fill(3);
  clock_.advance(-hours(1));
  for (uint64_t i = 4; i <= 5; ++i) ASSERT_TRUE(store_.put(testRecord(i), "body"));
  ASSERT_TRUE(store_.sweep());
  EXPECT_EQ(store_.list()->total, 4u);
  EXPECT_EQ(store_.find(testId(1)).error().code, ErrorCode::NotFound) << "the first to come goes";
  clock_.advance(hours(1));
  ASSERT_TRUE(store_.sweep());
  EXPECT_EQ(store_.list()->total, 4u);
  clock_.advance(hours(25));
  ASSERT_TRUE(store_.sweep());
  EXPECT_EQ(store_.stats()->profiles, 0u);
}

TEST_P(StoreContract, RemembersRevokedTokensUntilTheyExpire) {
  const RevokedToken shorter{"jti-1", clock_.now() + hours(1)};
  const RevokedToken longer{"jti-2", clock_.now() + hours(48)};
  ASSERT_TRUE(store_.revoke(shorter));
  ASSERT_TRUE(store_.revoke(longer));
  EXPECT_EQ(store_.revoked().value(), (std::vector{shorter, longer}));
  clock_.advance(hours(2));
  EXPECT_EQ(store_.revoked().value(), std::vector{longer});
  EXPECT_EQ(store_.revoke({"", clock_.now()}).error().code, ErrorCode::Malformed);
}

TEST_P(StoreContract, RefusesWhatIsTooLarge) {
  store_.close();
  StoreTuning tuning = manualTuning();
  tuning.body_bytes_max = 1000;
  auto store = createStore(config_, std::move(tuning));
  ASSERT_TRUE(store);
  store_ = WaitingStore(std::move(*store));
  EXPECT_TRUE(store_.put(testRecord(1), testBody(1000)));
  EXPECT_EQ(store_.put(testRecord(2), testBody(1001)).error().code, ErrorCode::TooLarge);
  ProfileRecord wide = testRecord(3);
  wide.path.assign(100'000, 'x');
  EXPECT_EQ(store_.put(wide).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(store_.stats()->profiles, 1u);
}

TEST_P(StoreContract, IsStillThereAfterARestart) {
  if (GetParam() == Subject::Memory) GTEST_SKIP() << "memory ends with the process";
  fill(5);
  ASSERT_TRUE(store_.pin(testId(2)));
  ASSERT_TRUE(store_.revoke({"jti-1", clock_.now() + hours(1)}));
  reopen();
  auto page = store_.list();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->total, 5u);
  EXPECT_EQ(page->records.front().id, testId(5));
  EXPECT_EQ(store_.body(testId(3)).value_or(""), testBody(100));
  EXPECT_EQ(store_.stats()->pinned, 1u);
  EXPECT_EQ(store_.revoked()->size(), 1u);
}

TEST_P(StoreContract, CallsBackInTheOrderOfTheCalls) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    if (i % 3 == 0) {
      store_.get().find(testId(1), [&order, i](auto) { order.push_back(i); });
    } else {
      store_.get().put(testRecord(static_cast<uint64_t>(i)), "body",
                       [&order, i](auto) { order.push_back(i); });
    }
  }
  store_.close();  // works the queue off
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         testing::Values(Subject::Memory, Subject::Embedded, Subject::Redis,
                                         Subject::RedisPassword, Subject::RedisUser),
                         nameOfSubject);

}  // namespace
}  // namespace flamegate::control
