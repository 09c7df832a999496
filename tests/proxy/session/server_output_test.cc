// What a server session writes, and to clients that read slowly or not at all.
#include <gtest/gtest.h>

#include "proxy/http/http1_body.h"
#include "tests/proxy/session/fake_handlers.h"

namespace flamegate::proxy {
namespace {

constexpr uint64_t kMany = 10'000'000;

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

// The content of a chunked body that is complete; else "incomplete".
std::string dechunked(std::string_view bytes) {
  Http1BodyDecoder decoder;
  decoder.begin(Framing::Chunked, 0);
  std::string out;
  for (;;) {
    const Http1BodyDecoder::Step step = decoder.look(bytes);
    bytes.remove_prefix(step.framing_bytes);
    if (step.content_bytes == 0) break;
    out += bytes.substr(0, step.content_bytes);
    bytes.remove_prefix(step.content_bytes);
    decoder.take(step.content_bytes);
  }
  return decoder.done() && bytes.empty() ? out : "incomplete";
}

std::string bodyOf(const std::string& message) {
  return message.substr(message.find("\r\n\r\n") + 4);
}

TEST_F(ServerSessionTest, TakesNoMoreThanAClientReads) {
  for (const char* path : {"/bytes", "/sized"}) {
    handlers.log = {};
    open();
    send(get(path + ("?" + std::to_string(kMany))));
    settle(*loop);
    const uint64_t taken = handlers.log.content_taken;
    EXPECT_LT(taken, 1'000'000u) << "what fits the socket and one buffer";
    settle(*loop);
    EXPECT_EQ(handlers.log.content_taken, taken);
    const std::string body = bodyOf(receive());
    EXPECT_EQ(path == std::string("/sized") ? body.size() : dechunked(body).size(), kMany);
    EXPECT_FALSE(closed());
  }
}

TEST_F(ServerSessionTest, FeedsAClientThatReadsInSmallPieces) {
  open();
  send(get("/bytes?1000000"));
  std::string output;
  for (size_t piece = 1; !output.ends_with("\r\n0\r\n\r\n"); piece = piece * 3 % 30'011 + 1) {
    settle(*loop);
    output += receiveSome(client.get(), piece);
    ASSERT_LT(output.size(), 1'100'000u);
  }
  EXPECT_EQ(dechunked(bodyOf(output)).size(), 1'000'000u);
}

TEST_F(ServerSessionTest, EndsAnUnsizedBodyByClosingForOldClients) {
  open();
  send("GET /bytes?100000 HTTP/1.0\r\n\r\n");
  const std::string output = receive();
  EXPECT_EQ(output.substr(0, 39), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nb");
  EXPECT_EQ(bodyOf(output).size(), 100'000u);
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, SendsNoContentForHead) {
  const std::string sized = ask("HEAD /sized?100000 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(sized, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  const std::string chunked = ask("HEAD /bytes?100000 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(chunked, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_FALSE(closed());
}

// Responses without content are nothing that a handler could hold back.
TEST_F(ServerSessionTest, StopsReadingRequestsOfAClientThatReadsNoResponses) {
  open();
  constexpr size_t kRequests = 100'000;
  const std::string request = get("/empty");
  const std::string response = "HTTP/1.1 204 \r\n\r\n";
  std::string input;
  for (size_t i = 0; i < kRequests; ++i) input += request;
  size_t sent = 0;
  size_t begun = 0;
  for (int quiet = 0; quiet < 4;) {
    sent += sendSome(client.get(), std::string_view(input).substr(sent));
    settle(*loop);
    quiet = handlers.log.begun == begun ? quiet + 1 : 0;
    begun = handlers.log.begun;
  }
  EXPECT_LT(begun, kRequests / 5);
  std::string output;
  while (sent < input.size() || handlers.log.begun < kRequests) {
    const size_t before = sent + output.size();
    sent += sendSome(client.get(), std::string_view(input).substr(sent));
    output += receive();
    ASSERT_GT(sent + output.size(), before) << "it hangs";
  }
  output += receive();
  EXPECT_EQ(output.size(), kRequests * response.size());
}

TEST_F(ServerSessionTest, SendsAllToASlowClientThatClosedItsDirection) {
  open();
  std::string input;
  for (int i = 0; i < 100; ++i) input += get("/sized?9000");
  send(input);
  ::shutdown(client.get(), SHUT_WR);
  settle(*loop);
  std::string output;
  while (!client_ended) {
    output += receiveSome(client.get(), 5000, &client_ended);
    settle(*loop);
  }
  EXPECT_EQ(output.size(),
            100 * (std::string("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n").size() + 9000));
}

TEST_F(ServerSessionTest, PassesBytesBothWaysThroughATunnel) {
  open();
  send(get("/tunnel", "Connection: Upgrade\r\nUpgrade: test\r\n") + "first");
  EXPECT_EQ(receive(), "HTTP/1.1 101 \r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nfirst");
  send(std::string(100'000, 't'));
  EXPECT_EQ(receive().size(), 100'000u);
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(receive(), "");
  EXPECT_TRUE(client_ended);
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, SendsWhatATunnelHasTakenBeforeItCloses) {
  open();
  send(get("/burst", "Connection: Upgrade\r\nUpgrade: test\r\n"));
  settle(*loop);
  const std::string output = receive();
  EXPECT_EQ(bodyOf(output).size(), handlers.log.content_taken);
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, EndsWhenTheClientResetsWhileItIsWrittenTo) {
  open(makeTcpPair());
  send(get("/sized?100000000"));
  runUntil(*loop, [&] { return handlers.log.content_taken > 0; });
  const linger hard{1, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  client.reset();
  runUntil(*loop, [&] { return closed(); });
  EXPECT_EQ(handlers.log.begun, handlers.log.ended);
}

}  // namespace
}  // namespace flamegate::proxy
