// Waiting for records, on the join's fixture.
#include "control/records.h"

#include "tests/control/api/join_fixture.h"

namespace flamegate::control {
namespace {

class RecordsTest : public JoinTest {
 protected:
  void onRecord(const ProfileRecord& record) override { records_.onRecord(record); }

  std::shared_ptr<std::optional<Result<ProfileRecord>>> await(const agent::ProfileId& id,
                                                              Millis wait) {
    auto result = std::make_shared<std::optional<Result<ProfileRecord>>>();
    records_.await(std::string(id.text()), wait, [result](Result<ProfileRecord> found) {
      EXPECT_FALSE(result->has_value());
      *result = std::move(found);
    });
    settle();
    return result;
  }

  Records records_{executor_, *store_, *join_};
};

TEST_F(RecordsTest, AnswersAtOnceWithoutAWait) {
  const auto id = newId();
  EXPECT_EQ((*await(id, 0s))->error().code, proxy::ErrorCode::NotFound);
  begin(id);
  EXPECT_EQ((**await(id, 0s))->state, ProfileState::Running);
}

TEST_F(RecordsTest, WaitsForARecordThatHasNotArrivedYet) {
  const auto id = newId();
  const auto result = await(id, 10s);
  EXPECT_FALSE(result->has_value());
  begin(id);
  end(id);
  EXPECT_FALSE(result->has_value());
  upload(id, part("71-1"));
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((**result)->state, ProfileState::Stored);
  EXPECT_EQ((**result)->bytes, 6U);
  EXPECT_EQ(records_.waiting(), 0U);
}

TEST_F(RecordsTest, GivesThePresentStateWhenTheTimeIsUp) {
  const auto id = newId();
  begin(id);
  const auto known = await(id, 5s);
  const auto unknown = await(newId(), 5s);
  advance(6s);
  EXPECT_EQ((**known)->state, ProfileState::Running);
  EXPECT_EQ((*unknown)->error().code, proxy::ErrorCode::NotFound);
}

TEST_F(RecordsTest, WakesWaitersOnFailure) {
  const auto id = newId();
  begin(id);
  const auto result = await(id, 10s);
  end(id, "refused", "agent-off");
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((**result)->reason, FailReason::Refused);
}

}  // namespace
}  // namespace flamegate::control
