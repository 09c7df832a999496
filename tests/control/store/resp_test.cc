#include "control/store/resp.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace flamegate::control {
namespace {

constexpr size_t kBytesMax = 1 << 16;

// All replies in the bytes, or nothing when they are malformed.
std::optional<std::vector<RespValue>> readAll(std::string_view bytes, size_t piece) {
  RespReader reader(kBytesMax);
  std::vector<RespValue> out;
  while (!bytes.empty()) {
    const size_t size = std::min(piece, bytes.size());
    if (!reader.feed(bytes.substr(0, size))) return std::nullopt;
    bytes.remove_prefix(size);
    for (;;) {
      auto reply = reader.next();
      if (!reply) return std::nullopt;
      if (!*reply) break;
      out.push_back(std::move(**reply));
    }
  }
  return out;
}

constexpr std::string_view kConversation =
    "+OK\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n$0\r\n\r\n-WRONGPASS no\r\n"
    "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n+QUEUED\r\n*0\r\n";

void expectConversation(const std::vector<RespValue>& replies) {
  using Kind = RespValue::Kind;
  ASSERT_EQ(replies.size(), 9u);
  EXPECT_EQ(replies[0].kind, Kind::Status);
  EXPECT_EQ(replies[0].text, "OK");
  EXPECT_EQ(replies[1].kind, Kind::Integer);
  EXPECT_EQ(replies[1].integer, -42);
  EXPECT_EQ(replies[2].text, "a\r\nbc");
  EXPECT_TRUE(replies[3].isNil());
  EXPECT_TRUE(replies[4].isNil());
  EXPECT_EQ(replies[5].kind, Kind::String);
  EXPECT_TRUE(replies[6].isError());
  ASSERT_EQ(replies[7].elements.size(), 3u);
  ASSERT_EQ(replies[7].elements[1].elements.size(), 2u);
  EXPECT_EQ(replies[7].elements[1].elements[0].text, "x");
  EXPECT_TRUE(replies[7].elements[1].elements[1].isNil());
  EXPECT_EQ(replies[7].elements[2].text, "QUEUED");
  EXPECT_EQ(replies[8].kind, Kind::Array);
}

TEST(RespReader, ReadsEveryKindOfReplyInPiecesOfAnySize) {
  for (size_t piece = 1; piece <= kConversation.size(); ++piece) {
    auto replies = readAll(kConversation, piece);
    ASSERT_TRUE(replies) << piece;
    expectConversation(*replies);
  }
}

TEST(RespReader, RefusesWhatIsNoReply) {
  for (const char* bytes :
       {"HTTP/1.1 400 Bad Request\r\n", "?\r\n", "\r\n", ":abc\r\n", "*-5\r\n", "$-7\r\n",
        "*4294967297\r\n", "*99999999999999999999\r\n", "*1048577\r\n", "%1\r\n+a\r\n+b\r\n"}) {
    EXPECT_FALSE(readAll(bytes, 100)) << bytes;
  }
}

TEST(RespReader, RefusesDeepNesting) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += "*1\r\n";
  EXPECT_FALSE(readAll(bytes, 100));
}

TEST(RespReader, RefusesRepliesOverItsLimit) {
  EXPECT_TRUE(readAll("$60000\r\n" + std::string(60'000, 'x') + "\r\n", 4096));
  EXPECT_FALSE(readAll("$70000\r\n" + std::string(70'000, 'x') + "\r\n", 4096));
  EXPECT_FALSE(readAll("$9223372036854775807\r\n" + std::string(70'000, 'x'), 4096));
}

TEST(RespReader, CountsTheValuesOfAReplyAndNotOfAllReplies) {
  RespReader reader(64 << 20);
  std::string many = "*600000\r\n";
  for (int i = 0; i < 600'000; ++i) many += ":1\r\n";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(reader.feed(many));
    auto reply = reader.next();
    ASSERT_TRUE(reply && *reply);
    EXPECT_EQ((*reply)->elements.size(), 600'000u);
  }
  ASSERT_TRUE(reader.feed("*2\r\n" + many + many));
  EXPECT_FALSE(reader.next());
}

TEST(RespReader, SurvivesEveryTruncationAndEveryChangedByte) {
  for (size_t at = 0; at < kConversation.size(); ++at) {
    static_cast<void>(readAll(kConversation.substr(0, at), 7));
    for (char c : {'*', '$', '9', '-', '\r', '\n', '\0', '\xff'}) {
      std::string bytes(kConversation);
      bytes[at] = c;
      static_cast<void>(readAll(bytes, 7));
    }
  }
}

TEST(RespCommands, CountsBytesNotCharacters) {
  RespCommands commands;
  commands.add({"SET", "k", std::string_view("a\0\r\n", 4), ""});
  commands.add({"PING"});
  EXPECT_EQ(commands.count(), 2u);
  EXPECT_EQ(
      commands.bytes(),
      std::string_view(
          "*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\0\r\n\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n", 50));
}

}  // namespace
}  // namespace flamegate::control
