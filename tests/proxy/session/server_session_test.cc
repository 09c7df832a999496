// What a server session reads, and how its connection goes on or ends.
#include <netinet/tcp.h>

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/proxy/session/fake_handlers.h"

namespace flamegate::proxy {
namespace {

using std::chrono::seconds;

std::string response(std::string_view body, std::string_view more = "") {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append(more).append("\r\n").append(body);
}

constexpr std::string_view kGet = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(ServerSessionTest, AnswersRequestsOneAfterTheOther) {
  EXPECT_EQ(ask(kGet), response("GET /echo "));
  send("GET /echo?2 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(receive(), response("GET /echo?2 "));
  EXPECT_FALSE(closed());
}

TEST_F(ServerSessionTest, MeansTheSameWhereverItsInputIsCut) {
  const std::string input =
      "GET /echo?1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /echo?2 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "POST /echo?3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4;x\r\ndefg\r\n0\r\nX-Sum: 1\r\n\r\n"
      "\r\nHEAD /echo?4 HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /empty HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /echo?5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string expected =
      response("GET /echo?1 ") + response("POST /echo?2 hello") + response("early") +
      response("POST /echo?3 abcdefg X-Sum") + "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n" +
      "HTTP/1.1 204 \r\n\r\n" + response("GET /echo?5 ", "Connection: close\r\n");
  for (size_t cut = 1; cut < input.size(); ++cut) {
    open();
    send(input.substr(0, cut));
    std::string output = receive();
    send(input.substr(cut));
    output += receive();
    ASSERT_EQ(output, expected) << "cut at " << cut;
    ASSERT_TRUE(closed()) << "cut at " << cut;
  }
  EXPECT_EQ(handlers.log.begun, handlers.log.ended);
}

TEST_F(ServerSessionTest, ServesManyPipelinedRequestsInTurns) {
  std::string input;
  for (int i = 0; i < 200; ++i) input += kGet;
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += response("GET /echo ");
  EXPECT_EQ(ask(input), expected);
}

TEST_F(ServerSessionTest, SkipsTheContentThatAnEarlyAnswerLeft) {
  EXPECT_EQ(ask("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n0123456789"),
            response("early"));
  send(std::string(90, 'x') + std::string(kGet));
  EXPECT_EQ(receive(), response("GET /echo ")) << "the connection can still be used";
}

TEST_F(ServerSessionTest, GivesUpSkippingAfterSomeContent) {
  ask("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
  const std::string block(60'000, 'x');
  for (int i = 0; i < 100 && !client_ended; ++i) {
    sendSome(client.get(), block);
    receive();
  }
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, ClosesAfterAnEarlyAnswerToAClientThatAsksFirst) {
  EXPECT_EQ(
      ask("POST /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"),
      response("early", "Connection: close\r\n"));
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, PassesInterimResponsesToHttp11Only) {
  EXPECT_EQ(ask("GET /hints HTTP/1.1\r\nHost: a\r\n\r\n"),
            "HTTP/1.1 103 \r\n\r\n" + response("GET /hints "));
  EXPECT_EQ(ask("GET /hints HTTP/1.0\r\n\r\n"), response("GET /hints ", "Connection: close\r\n"));
  EXPECT_EQ(
      ask("PUT /continue HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
      "HTTP/1.1 100 \r\n\r\n");
  send("ok");
  EXPECT_EQ(receive(), response("PUT /continue ok"));
}

TEST_F(ServerSessionTest, KeepsAnOldConnectionOnlyWhenAsked) {
  EXPECT_EQ(ask("GET /echo HTTP/1.0\r\n\r\n"), response("GET /echo ", "Connection: close\r\n"));
  EXPECT_TRUE(closed());
  EXPECT_EQ(ask("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            response("GET /echo ", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(closed());
}

TEST_F(ServerSessionTest, RefusesAMalformedHeadAndEndsInOrder) {
  const std::string output = ask("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
  EXPECT_EQ(output.substr(0, 26), "HTTP/1.1 400 Bad Request\r\n");
  EXPECT_EQ(handlers.log.count("refused 400 field-name"), 1u);
  EXPECT_TRUE(client_ended);
  EXPECT_FALSE(closed()) << "it lingers for what the client still sends";
  send(std::string(1000, 'x'));
  settle(*loop);
  EXPECT_FALSE(closed());
  client.reset();
  settle(*loop);
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, LingersForALimitedTime) {
  ask("bad\r\n\r\n");
  ASSERT_FALSE(closed());
  passTime(seconds(1));
  EXPECT_FALSE(closed());
  passTime(seconds(3));
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, LingersForALimitedNumberOfBytes) {
  ask("bad\r\n\r\n");
  const std::string block(50'000, 'x');
  for (int i = 0; i < 100 && !closed(); ++i) {
    sendSome(client.get(), block);
    settle(*loop);
  }
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, LetsTheHandlerAnswerAMalformedBody) {
  const std::string output =
      ask("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
  EXPECT_EQ(output, response("malformed", "Connection: close\r\n"));
  EXPECT_EQ(handlers.log.count("failure malformed"), 1u);
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, RefusesAHeadThatDoesNotComeInTime) {
  context.limits.header_read = seconds(5);
  open();
  send("GET / HTTP/1.1\r\nHo");
  settle(*loop);
  passTime(seconds(4));
  EXPECT_EQ(receive(), "");
  send("st: ");
  settle(*loop);
  passTime(seconds(6));
  EXPECT_EQ(receive().substr(0, 30), "HTTP/1.1 408 Request Timeout\r\n")
      << "more bytes buy no time";
  EXPECT_EQ(handlers.log.count("refused 408 header-timeout"), 1u);
}

TEST_F(ServerSessionTest, ClosesAnIdleConnectionWithoutAWord) {
  context.limits.idle = seconds(5);
  ask(kGet);
  passTime(seconds(4));
  EXPECT_FALSE(closed());
  passTime(seconds(6));
  EXPECT_TRUE(closed());
  EXPECT_EQ(receive(), "");
  EXPECT_TRUE(client_ended);
}

TEST_F(ServerSessionTest, ServesAClientThatClosedItsDirection) {
  open();
  send(std::string(kGet) + "GET /echo?2 HTTP/1.1\r\nHost: a\r\n\r\n");
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(receive(), response("GET /echo ") + response("GET /echo?2 "));
  EXPECT_TRUE(client_ended);
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, AnswersLateToAClientThatClosedItsDirection) {
  open();
  send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  settle(*loop);
  ::shutdown(client.get(), SHUT_WR);
  settle(*loop);
  ASSERT_EQ(handlers.handlers.size(), 1u) << "it still waits for its answer";
  handlers.handlers[0]->release();
  EXPECT_EQ(receive(), response("early", "Connection: close\r\n"));
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, ServesWhatWasPipelinedBeforeTheClientClosedItsDirection) {
  open();
  send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(kGet) +
       "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\ncut");
  settle(*loop);
  ::shutdown(client.get(), SHUT_WR);
  settle(*loop);
  ASSERT_EQ(handlers.handlers.size(), 1u);
  handlers.handlers[0]->release();
  EXPECT_EQ(receive(), response("early") + response("GET /echo "));
  EXPECT_EQ(handlers.log.count("failure closed"), 1u) << "the last one is incomplete";
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, TellsTheHandlerThatTheClientBrokeOffItsRequest) {
  ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  client.reset();
  settle(*loop);
  EXPECT_EQ(handlers.log.count("failure closed"), 1u);
  EXPECT_TRUE(closed());
  EXPECT_EQ(handlers.log.begun, handlers.log.ended);
}

TEST_F(ServerSessionTest, TellsAWaitingHandlerThatTheClientReset) {
  open(makeTcpPair());
  send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil(*loop, [&] { return handlers.log.begun == 1; });
  const linger hard{1, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  client.reset();
  runUntil(*loop, [&] { return closed(); });
  EXPECT_EQ(handlers.log.count("failure reset"), 1u);
}

// The response and the end of the connection are one segment (RFC 9293 §3.8.2 leaves that to us).
TEST_F(ServerSessionTest, EndsTheConnectionWithTheLastBytes) {
  // The C library's tcp_info ends before tcpi_segs_in.
  const auto segments = [&] {
    std::array<char, 256> info{};
    socklen_t size = info.size();
    EXPECT_EQ(::getsockopt(client.get(), IPPROTO_TCP, TCP_INFO, info.data(), &size), 0);
    uint32_t came = 0;
    std::memcpy(&came, info.data() + 140, sizeof came);
    return came;
  };
  open(makeTcpPair());
  // Before the request the client has got the SYN's answer; then its acknowledgement, at most, and the end.
  const auto before = segments();
  send("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(receive(), response("GET /echo ", "Connection: close\r\n"));
  EXPECT_TRUE(client_ended);
  EXPECT_LE(segments() - before, 2u);
}

TEST_F(ServerSessionTest, EndsAnIdleConnectionSoonWhenDrained) {
  ask(kGet);
  session->drain();
  settle(*loop);
  EXPECT_FALSE(closed());
  runUntil(*loop, [&] { return closed(); });
}

// It may have been on its way when the drain began.
TEST_F(ServerSessionTest, ServesOneMoreRequestWhenDrained) {
  ask(kGet);
  session->drain();
  settle(*loop);
  send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil(*loop, [&] { return handlers.log.begun == 2; });
  handlers.handlers.back()->release();
  EXPECT_EQ(receive(), response("early", "Connection: close\r\n"));
  EXPECT_TRUE(closed());
}

// The last responses to a client that sent everything at once and is slow to read.
TEST_F(ServerSessionTest, SendsWhatIsLeft) {
  for (const bool drained : {false, true}) {
    std::string input;
    for (int i = 0; i < 100; ++i) input += "GET /sized?3000 HTTP/1.1\r\nHost: a\r\n\r\n";
    open();
    send(input);
    settle(*loop);
    std::string output;
    const size_t begun = handlers.log.begun;
    while (handlers.log.begun < begun + 100 && output.size() < 200'000) {
      output += receiveSome(client.get(), 1000);
      settle(*loop);
    }
    if (drained) session->drain();
    output += receive();
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n";
    EXPECT_EQ(output.size(), 100 * (head.size() + 3000));
  }
}

TEST_F(ServerSessionTest, EndsABusyConnectionAfterItsResponseWhenDrained) {
  ask("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  session->drain();
  settle(*loop);
  ASSERT_FALSE(closed());
  handlers.handlers[0]->release();
  EXPECT_EQ(receive(), response("early", "Connection: close\r\n"));
  EXPECT_TRUE(closed());
}

TEST_F(ServerSessionTest, EndsItsHandlerWhenItIsDestroyed) {
  ask("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  session.reset();
  EXPECT_EQ(handlers.log.ended, 1u);
}

}  // namespace
}  // namespace flamegate::proxy
