// A connection to an application, whose end the test plays itself.
#include <gtest/gtest.h>

#include "proxy/session/http1_client_session.h"
#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

struct ClientSessionTest : testing::Test, ClientSessionOwner, ClientStreamEvents {
  ~ClientSessionTest() override {
    if (lent) session->end(*session);
    session.reset();
  }

  void onSessionLost(ClientSession&, const Error*) override { ++lost; }
  void onStreamsFree(ClientSession&) override { FAIL(); }
  void onSessionReplaced(ClientSession&, std::unique_ptr<ClientSession>) override { FAIL(); }
  void onUpstreamReady() override { ++ready; }

  void connect(const Address& address) {
    auto fd = connectTo(address);
    ASSERT_TRUE(fd);
    session = std::make_unique<Http1ClientSession>(context, std::move(*fd), nullptr, *this);
    ASSERT_TRUE(session->start());
  }

  void open() {
    const UniqueFd listening = listenAnywhere();
    connect(localAddress(listening.get()));
    waitFor(listening.get(), POLLIN);
    application =
        UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    begin();
    runUntil(*loop, [&] { return session->connected(); });
  }
  void begin() {
    session->begin(*this);
    lent = true;
  }
  bool end() {
    lent = false;
    session->end(*session);
    EXPECT_EQ(session->streamsFree(), session->spent() ? 0u : 1u);
    return !session->spent();
  }

  void request(const std::string& bytes) {
    RequestHead head;
    ASSERT_EQ(parseRequestHead(bytes, 0, {}, head).state, ParseResult::State::Complete);
    session->sendHead(head);
    session->sendEnd(nullptr);
    session->flush();
    waitFor(application.get(), POLLIN);
  }
  void get() { request("GET / HTTP/1.1\r\nHost: a\r\n\r\n"); }

  // Lets the application say something and the session hear it.
  void answer(std::string_view bytes) {
    ASSERT_EQ(sendSome(application.get(), bytes), bytes.size());
    hear();
  }
  void hear() {
    const int before = ready + lost;
    runUntil(*loop, [&] { return ready + lost > before; });
  }

  // In order: an unread request would make the kernel reset the connection.
  void closeApplication() {
    receiveSome(application.get());
    application.reset();
    hear();
  }

  std::string readAll() {
    std::string out;
    for (;;) {
      const std::string_view content = session->content();
      if (content.empty()) return out;
      out += content;
      session->consume(content.size());
    }
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  ObjectPool<Http1Response> responses;
  ClientSessionContext context{.loop = *loop, .responses = responses, .limits = {}};
  std::unique_ptr<Http1ClientSession> session;
  UniqueFd application;
  bool lent = false;
  int ready = 0;
  int lost = 0;
};

TEST_F(ClientSessionTest, CarriesOneRequestAfterTheOther) {
  open();
  for (int i = 0; i < 3; ++i) {
    if (i > 0) begin();
    get();
    EXPECT_EQ(receiveSome(application.get()), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(session->readHead());
    answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    ASSERT_TRUE(session->readHead());
    EXPECT_EQ(session->response().status, 200);
    EXPECT_EQ(readAll(), "hello");
    EXPECT_TRUE(session->responseEnded());
    EXPECT_EQ(session->reused(), i > 0);
    EXPECT_TRUE(end());
    EXPECT_TRUE(session->probeIdle());
  }
}

TEST_F(ClientSessionTest, ReadsAResponseByteByByte) {
  open();
  get();
  const std::string bytes =
      "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n";
  std::string statuses;
  std::string content;
  bool final_head = false;
  for (char c : bytes) {
    answer({&c, 1});
    while (!final_head && session->readHead()) {
      statuses += std::to_string(session->response().status) + " ";
      final_head = !session->response().interim();
    }
    if (final_head) content += readAll();
  }
  EXPECT_EQ(statuses, "103 200 ");
  EXPECT_EQ(content, "hello");
  ASSERT_NE(session->trailers(), nullptr);
  EXPECT_EQ((*session->trailers())[0].name(), "X-Sum");
  EXPECT_TRUE(end());
}

TEST_F(ClientSessionTest, RepairsALooseHead) {
  open();
  get();
  answer("HTTP/1.1 200 OK\nX : folded\n  on\nContent-Length: 2\n\nhi");
  ASSERT_TRUE(session->readHead());
  EXPECT_EQ(session->response().fields.find("x")->value(), "folded on");
  EXPECT_EQ(readAll(), "hi");
  EXPECT_TRUE(end());
}

TEST_F(ClientSessionTest, IsNotUsedAgainWhenTheApplicationSaysMoreThanAsked) {
  open();
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n");
  ASSERT_TRUE(session->readHead());
  EXPECT_EQ(readAll(), "hi");
  EXPECT_FALSE(end());
}

TEST_F(ClientSessionTest, IsNotUsedAgainBeforeItsResponseHasEnded) {
  open();
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi");
  ASSERT_TRUE(session->readHead());
  EXPECT_EQ(readAll(), "hi");
  EXPECT_FALSE(end());
}

TEST_F(ClientSessionTest, ReadsABodyThatLastsUntilTheEnd) {
  open();
  get();
  answer("HTTP/1.1 200 OK\r\n\r\nall of it");
  ASSERT_TRUE(session->readHead());
  EXPECT_EQ(readAll(), "all of it");
  EXPECT_FALSE(session->responseEnded());
  closeApplication();
  EXPECT_EQ(readAll(), "");
  EXPECT_TRUE(session->responseEnded());
  EXPECT_EQ(session->failure(), nullptr);
  EXPECT_FALSE(end());
}

TEST_F(ClientSessionTest, FailsWhenABodyIsCutShort) {
  open();
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi");
  ASSERT_TRUE(session->readHead());
  EXPECT_EQ(readAll(), "hi");
  closeApplication();
  EXPECT_EQ(readAll(), "");
  ASSERT_NE(session->failure(), nullptr);
  EXPECT_EQ(session->failure()->code, ErrorCode::Closed);
  EXPECT_EQ(session->failure()->retry, Retry::No);
}

TEST_F(ClientSessionTest, AllowsARetryOnlyWhileNothingWasAnswered) {
  open();
  get();
  EXPECT_TRUE(session->anythingSent());
  closeApplication();
  EXPECT_FALSE(session->readHead());
  ASSERT_NE(session->failure(), nullptr);
  EXPECT_EQ(session->failure()->retry, Retry::IfUnanswered);
}

TEST_F(ClientSessionTest, FailsOnAHeadThatCannotBeRepaired) {
  open();
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_FALSE(session->readHead());
  ASSERT_NE(session->failure(), nullptr);
  EXPECT_EQ(session->failure()->code, ErrorCode::Malformed);
}

TEST_F(ClientSessionTest, TellsItsOwnerWhenAnIdleConnectionIsClosed) {
  open();
  get();
  answer("HTTP/1.1 204 x\r\n\r\n");
  ASSERT_TRUE(session->readHead());
  ASSERT_TRUE(end());
  closeApplication();
  EXPECT_EQ(lost, 1);
  EXPECT_FALSE(session->probeIdle());
}

TEST_F(ClientSessionTest, FailsWithARetryWhenNobodyListens) {
  Address nowhere;
  {
    const UniqueFd listening = listenAnywhere();
    nowhere = localAddress(listening.get());
  }
  connect(nowhere);
  begin();
  RequestHead head;
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  parseRequestHead(bytes, 0, {}, head);
  session->sendHead(head);
  session->sendEnd(nullptr);
  hear();
  session->flush();
  if (session->failure() == nullptr) session->readHead();
  ASSERT_NE(session->failure(), nullptr);
  EXPECT_EQ(session->failure()->code, ErrorCode::Refused);
  EXPECT_EQ(session->failure()->retry, Retry::Yes);
}

TEST_F(ClientSessionTest, SendsALargeBodyAsFastAsItIsTaken) {
  open();
  RequestHead head;
  const std::string bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  parseRequestHead(bytes, 0, {}, head);
  session->sendHead(head);
  const std::string block(50'000, 'b');
  size_t taken = 0;
  std::string received;
  while (taken < 5'000'000) {
    const size_t now = session->sendContent(block);
    taken += now;
    session->flush();
    if (now == block.size()) continue;
    EXPECT_LT(taken, received.size() + 10'000'000);
    waitFor(application.get(), POLLIN);
    received += receiveSome(application.get());
    loop->runOnce(false);
  }
  session->sendEnd(nullptr);
  while (!received.ends_with("0\r\n\r\n")) {
    session->flush();
    received += receiveSome(application.get());
    loop->runOnce(false);
  }
  EXPECT_TRUE(session->flushed());
  EXPECT_GT(received.size(), taken);
}

}  // namespace
}  // namespace flamegate::proxy
