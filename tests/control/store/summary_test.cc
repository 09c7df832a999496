#include "control/store/summary.h"

#include <gtest/gtest.h>

namespace flamegate::control {
namespace {

Summary fullSummary() {
  Summary summary;
  summary.id = "0mjq1x2a3b4c5d6e7f8g";
  summary.kind = ProfileKind::Continuous;
  summary.state = ProfileState::Stored;
  summary.trigger = Trigger::Slow;
  summary.status = 200;
  summary.started_at = WallTime(Millis(1'767'225'600'123));
  summary.duration = Micros(12'345);
  summary.samples = 99;
  summary.stored_at = WallTime(Millis(1'767'225'601'000));
  summary.pinned_until = WallTime(Millis(1'775'001'601'000));
  summary.bytes = 12'288;
  summary.method = "GET";
  summary.path = "/a|b,c";
  summary.route = "GET /a";
  summary.host = "web-1";
  summary.service = "shop";
  summary.campaign = "c1";
  return summary;
}

TEST(Summary, GivesBackEveryField) {
  EXPECT_EQ(findSummary(encodeSummary(fullSummary())), fullSummary());
}

TEST(Summary, KeepsUnknownFieldsUnknown) {
  Summary summary;
  summary.id = "00000000000000000001";
  EXPECT_EQ(findSummary(encodeSummary(summary)), summary);
}

TEST(Summary, KeepsFieldsApartWhateverTheyHold) {
  Summary summary = fullSummary();
  summary.path = std::string("/a\x1f") + "b\n" + '\0' + "c";
  auto read = findSummary(encodeSummary(summary));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->path, "/a?b??c");
  EXPECT_EQ(read->campaign, "c1");
}

TEST(Summary, SurvivesEveryTruncation) {
  const std::string text = encodeSummary(fullSummary());
  const size_t last_field = text.rfind('\x1f');
  for (size_t size = 0; size <= last_field; ++size) {
    EXPECT_EQ(findSummary(text.substr(0, size)), std::nullopt) << size;
  }
}

TEST(Summary, RefusesEachFieldThatIsWrong) {
  const std::string text = encodeSummary(fullSummary());
  EXPECT_EQ(findSummary(text + '\x1f'), std::nullopt) << "a field too many";
  for (size_t field = 0; field < 11; ++field) {
    size_t begin = 0;
    for (size_t i = 0; i < field; ++i) begin = text.find('\x1f', begin) + 1;
    std::string broken = text;
    broken.replace(begin, text.find('\x1f', begin) - begin, "9x");
    EXPECT_EQ(findSummary(broken), std::nullopt) << field;
  }
}

TEST(Summary, RefusesNumbersOutOfRange) {
  const std::string text = encodeSummary(fullSummary());
  for (const auto& [from, to] : {std::pair("\x1f"
                                           "200\x1f",
                                           "\x1f"
                                           "1000\x1f"),
                                 std::pair("\x1f"
                                           "12345\x1f",
                                           "\x1f"
                                           "-1\x1f"),
                                 std::pair("\x1f"
                                           "12288\x1f",
                                           "\x1f"
                                           "99999999999999999999\x1f")}) {
    std::string broken = text;
    broken.replace(broken.find(from), std::string(from).size(), to);
    EXPECT_EQ(findSummary(broken), std::nullopt) << to;
  }
  EXPECT_EQ(findSummary(text + std::string(kSummaryBytesMax, 'x')), std::nullopt);
}

}  // namespace
}  // namespace flamegate::control
