// The resolver against a name server that the test plays itself, one datagram at a time.
#include "proxy/net/resolver.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

constexpr uint16_t kA = 1;
constexpr uint16_t kAaaa = 28;

std::string twoBytes(size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}

using Records = std::vector<std::string_view>;

constexpr std::string_view kFour = "\x0a\x01\x02\x03";
constexpr std::string_view kOtherFour = "\x0a\x01\x02\x04";
constexpr std::string_view kSix("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);

struct ResolverTest : testing::Test {
  ResolverTest() : server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const Address any = *Address::parse("127.0.0.1:0");
    EXPECT_EQ(::bind(server.get(), any.get(), any.size()), 0);
    auto made = Resolver::create({.servers = {localAddress(server.get())},
                                  .timeout = std::chrono::milliseconds(100),
                                  .tries = 1});
    EXPECT_TRUE(made);
    resolver = std::move(*made);
  }

  struct Query {
    std::string bytes;
    Address from;
    uint16_t type = 0;
    std::string id() const { return bytes.substr(0, 2); }
    std::string question() const { return bytes.substr(12, bytes.find('\0', 12) + 5 - 12); }
  };

  Query receive() {
    waitFor(server.get(), POLLIN);
    char block[1024];
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const ssize_t got =
        ::recvfrom(server.get(), block, sizeof block, 0, reinterpret_cast<sockaddr*>(&peer), &size);
    EXPECT_GT(got, 12);
    Query query{.bytes = std::string(block, static_cast<size_t>(got)),
                .from = Address::fromSockaddr(reinterpret_cast<sockaddr*>(&peer), size)};
    const size_t end = query.bytes.find('\0', 12);
    query.type = static_cast<uint16_t>(static_cast<unsigned char>(query.bytes[end + 2]));
    return query;
  }

  void send(const Query& query, const std::string& bytes) {
    EXPECT_GT(
        ::sendto(server.get(), bytes.data(), bytes.size(), 0, query.from.get(), query.from.size()),
        0);
  }

  // A response with this code and these records' data, whose TTL is `ttl` seconds.
  static std::string response(const Query& query, size_t code, const Records& records,
                              size_t ttl = 0) {
    std::string out = query.id() + twoBytes(0x8180 | code) + twoBytes(1) +
                      twoBytes(records.size()) + twoBytes(0) + twoBytes(0) + query.question();
    for (const std::string_view data : records) {
      out += "\xc0\x0c" + twoBytes(query.type) + twoBytes(1) + twoBytes(0) + twoBytes(ttl) +
             twoBytes(data.size());
      out += data;
    }
    return out;
  }

  std::future<Result<ResolvedName>> ask(const std::string& name) {
    auto promise = std::make_shared<std::promise<Result<ResolvedName>>>();
    auto future = promise->get_future();
    resolver->resolve(
        name, [promise](Result<ResolvedName> result) { promise->set_value(std::move(result)); });
    return future;
  }

  // Answers the two queries of a name (A and AAAA) alike.
  void answerBoth(const std::function<std::string(const Query&)>& make) {
    for (int i = 0; i < 2; ++i) {
      const Query query = receive();
      send(query, make(query));
    }
  }

  UniqueFd server;
  std::unique_ptr<Resolver> resolver;
};

TEST_F(ResolverTest, FindsAddressesOfBothFamiliesAndTheShortestTtl) {
  auto answer = ask("app.test.");
  answerBoth([](const Query& query) {
    return query.type == kA ? response(query, 0, {kFour, kOtherFour}, 60)
                            : response(query, 0, {kSix}, 20);
  });
  const auto result = answer.get();
  ASSERT_TRUE(result) << result.error().detail;
  std::vector<std::string> hosts;
  for (const Address& address : result->addresses) hosts.push_back(address.host());
  std::sort(hosts.begin(), hosts.end());
  EXPECT_EQ(hosts, (std::vector<std::string>{"10.1.2.3", "10.1.2.4", "::1"}));
  EXPECT_EQ(result->ttl, std::chrono::seconds(20));
}

TEST_F(ResolverTest, IsContentWithOneFamily) {
  auto answer = ask("app.test.");
  answerBoth([](const Query& query) {
    return query.type == kAaaa ? response(query, 0, {}) : response(query, 0, {kFour}, 5);
  });
  const auto result = answer.get();
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(result->addresses.size(), 1u);
}

TEST_F(ResolverTest, TellsFailuresApart) {
  const struct {
    std::function<std::string(const Query&)> make;
    ErrorCode code;
  } cases[] = {
      {[](const Query& query) { return response(query, 3, {}); }, ErrorCode::NotFound},
      {[](const Query& query) { return response(query, 0, {}); }, ErrorCode::NotFound},
      {[](const Query& query) {
         const std::string whole = response(query, 0, {kFour});
         return whole.substr(0, whole.size() - 2);
       },
       ErrorCode::Malformed},
  };
  for (const auto& each : cases) {
    auto answer = ask("app.test.");
    answerBoth(each.make);
    const auto result = answer.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, each.code) << result.error().detail;
  }
}

TEST_F(ResolverTest, GivesUpOnAServerThatIsSilent) {
  const auto result = ask("app.test.").get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Timeout);
}

TEST_F(ResolverTest, ReadsTheHostsFile) {
  const auto result = ask("localhost").get();
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(result->ttl, Duration(0));
}

TEST_F(ResolverTest, AnswersWhatIsStillAskedWhenItEnds) {
  auto answer = ask("app.test.");
  receive();
  resolver.reset();
  const auto result = answer.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Closed);
}

// An answer is at most an error, whatever its bytes.
TEST_F(ResolverTest, SurvivesAnswersThatAreCutAnywhere) {
  auto answer = ask("whole.test.");
  std::string whole;
  answerBoth([&](const Query& query) {
    if (query.type == kA) whole = response(query, 0, {kFour}, 5);
    return response(query, 0, query.type == kA ? Records{kFour} : Records{}, 5);
  });
  ASSERT_TRUE(answer.get());
  for (size_t size = 12; size < whole.size(); size += 3) {
    auto cut = ask("whole.test.");
    answerBoth([&](const Query& query) { return query.id() + whole.substr(2, size - 2); });
    EXPECT_FALSE(cut.get()) << size;
  }
}

}  // namespace
}  // namespace flamegate::proxy
