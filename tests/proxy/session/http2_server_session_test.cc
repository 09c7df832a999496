#include "proxy/session/http2_server_session.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/proxy/session/fake_handlers.h"

namespace flamegate::proxy {
namespace {

using Kind = Http2Event::Kind;

// A client at frame level.
class FakeClient {
 public:
  explicit FakeClient(UniqueFd fd, Http2Options options = {.server = false})
      : fd_(std::move(fd)), codec_(options, memory_, pool_, out_) {
    codec_.start();
    flush();
  }

  Http2Stream& request(std::string_view path, bool end = true, std::vector<HpackField> more = {}) {
    auto& stream = *streams_.emplace_back(std::make_unique<Http2Stream>());
    EXPECT_TRUE(codec_.openNew(stream));
    std::vector<HpackField> fields = {
        {":method", "POST"}, {":scheme", "http"}, {":authority", "a.test"}, {":path", path}};
    fields.insert(fields.end(), more.begin(), more.end());
    codec_.sendBlock(stream, fields, end);
    flush();
    return stream;
  }
  void send(Http2Stream& stream, std::string_view content, bool end) {
    char head[kHttp2FrameHeadBytes];
    codec_.beginData(stream, content.size(), end, head);
    out_.append({head, sizeof head});
    out_.append(content);
    flush();
  }
  void reset(Http2Stream& stream) {
    codec_.sendReset(stream, Http2Error::Cancel);
    codec_.close(stream);
    flush();
  }
  void say(std::string_view bytes) { sendSome(fd_.get(), bytes); }
  void leave() { fd_.reset(); }

  void receive() {
    in_ += receiveSome(fd_.get(), 1 << 20, &connection_ended);
    for (;;) {
      const Http2Event event = codec_.next(in_);
      if (event.kind == Kind::Head) {
        HpackField field;
        while (codec_.nextField(field)) {
          if (field.name != ":status") continue;
          heads[event.id].append(field.value).append(" ");
          event.stream->head_received = !field.value.starts_with('1');
        }
      }
      if (event.kind == Kind::Content) {
        bodies[event.id] += event.content;
        if (takes) codec_.consume(*event.stream, event.content.size());
      }
      if (event.end) ended.push_back(event.id);
      if (event.kind == Kind::Reset) {
        resets[event.id] = event.error;
        codec_.close(*event.stream);
      }
      if (event.kind == Kind::GoAway) goaway = event.error;
      in_.erase(0, event.used);
      if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) break;
    }
    flush();
  }

  std::map<uint32_t, std::string> heads;
  std::map<uint32_t, std::string> bodies;
  std::map<uint32_t, Http2Error> resets;
  std::vector<uint32_t> ended;
  std::optional<Http2Error> goaway;
  bool connection_ended = false;
  bool takes = true;

 private:
  void flush() {
    if (fd_.valid()) sendSome(fd_.get(), out_.view());
    out_.clear();
  }

  UniqueFd fd_;
  HpackMemory memory_;
  BufferPool pool_;
  Buffer out_{pool_};
  Http2Codec codec_;
  std::string in_;
  std::vector<std::unique_ptr<Http2Stream>> streams_;
};

struct Http2ServerSessionTest : testing::Test {
  Http2ServerSessionTest() {
    context.on_closed = [](void* self, Http2ServerSession&) {
      auto* test = static_cast<Http2ServerSessionTest*>(self);
      test->loop->deleteLater(std::move(test->session));
    };
    context.owner = this;
  }
  ~Http2ServerSessionTest() override {
    session.reset();
    loop.reset();
  }

  void open(Http2Options options = {.server = false}) {
    SocketPair pair = makeSocketPair();
    client = std::make_unique<FakeClient>(std::move(pair.peer), options);
    auto connection = std::make_unique<Connection>(*loop, std::move(pair.ours),
                                                   Readiness{.readable = true, .writable = true});
    Peer peer;
    peer.text = "client";
    session = std::make_unique<Http2ServerSession>(
        context, Http2Handover{std::move(connection), Buffer(loop->buffers()), peer});
    session->start();
    turn();
  }
  void turn() {
    for (int i = 0; i < 6; ++i) {
      settle(*loop);
      client->receive();
    }
  }
  bool closed() const { return session == nullptr; }
  void passTime(Duration time) {
    loop->timers().advance(monotonicNow() + time);
    turn();
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  FakeHandlers handlers;
  Http2Shared shared;
  ObjectPool<Http2ServerStream> streams;
  Http2ServerContext context{
      .loop = *loop, .handlers = handlers, .shared = shared, .streams = streams, .limits = {}};
  std::unique_ptr<FakeClient> client;
  std::unique_ptr<Http2ServerSession> session;
};

TEST_F(Http2ServerSessionTest, ServesSeveralRequestsAtATime) {
  open();
  Http2Stream& one = client->request("/echo", false);
  client->request("/echo");
  client->send(one, "content", true);
  turn();
  EXPECT_EQ(client->bodies[1], "POST /echo content");
  EXPECT_EQ(client->bodies[3], "POST /echo ");
  EXPECT_EQ(client->ended, (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(handlers.log.ended, 2U);
}

TEST_F(Http2ServerSessionTest, TellsAClientThatItsContentIsNotWanted) {
  open();
  client->request("/early", false);
  turn();
  EXPECT_EQ(client->bodies[1], "early");
  EXPECT_EQ(client->resets[1], Http2Error::NoError);
  EXPECT_FALSE(closed());
}

TEST_F(Http2ServerSessionTest, TakesContentOnlyAsFastAsTheClientDoes) {
  open();
  client->takes = false;
  client->request("/bytes?1000000");
  turn();
  EXPECT_EQ(client->bodies[1].size(), kHttp2DefaultWindow);
  EXPECT_EQ(handlers.log.content_taken, kHttp2DefaultWindow);
}

TEST_F(Http2ServerSessionTest, SendsLargeResponsesBesideSmallOnes) {
  open();
  client->request("/bytes?3000000");
  client->request("/early");
  for (int i = 0; i < 200 && client->bodies[1].size() < 3'000'000; ++i) turn();
  EXPECT_EQ(client->bodies[1].size(), 3'000'000U);
  EXPECT_EQ(client->ended, (std::vector<uint32_t>{3, 1}));
}

TEST_F(Http2ServerSessionTest, SendsInterimHeadsAndEmptyResponses) {
  open();
  client->request("/hints");
  client->request("/empty");
  turn();
  EXPECT_EQ(client->heads[1], "103 200 ");
  EXPECT_EQ(client->heads[3], "204 ");
}

TEST_F(Http2ServerSessionTest, CarriesATunnel) {
  open();
  auto& stream = client->request("/tunnel", false);
  turn();
  client->send(stream, "ping", false);
  turn();
  EXPECT_EQ(client->bodies[1], "ping");
  client->send(stream, "last", true);
  turn();
  EXPECT_EQ(client->bodies[1], "pinglast");
  EXPECT_EQ(client->ended, std::vector<uint32_t>{1});
}

TEST_F(Http2ServerSessionTest, TellsHandlersOfResetsAndLostClients) {
  open();
  Http2Stream& stream = client->request("/late");
  client->request("/late");
  turn();
  client->reset(stream);
  turn();
  EXPECT_EQ(handlers.log.count("failure reset"), 1U);
  client->leave();
  settle(*loop);
  EXPECT_EQ(handlers.log.count("failure closed"), 1U);
  EXPECT_TRUE(closed());
}

TEST_F(Http2ServerSessionTest, DrainsInTwoSteps) {
  open();
  client->request("/late");
  turn();
  session->drain();
  turn();
  EXPECT_EQ(client->goaway, Http2Error::NoError);
  EXPECT_FALSE(closed());
  handlers.handlers.front()->release();
  turn();
  EXPECT_EQ(client->bodies[1], "early");
  EXPECT_TRUE(client->connection_ended);
}

TEST_F(Http2ServerSessionTest, ClosesIdleConnections) {
  open();
  client->request("/early");
  turn();
  passTime(context.limits.idle + std::chrono::seconds(1));
  EXPECT_EQ(client->goaway, Http2Error::NoError);
  EXPECT_TRUE(client->connection_ended);
}

TEST_F(Http2ServerSessionTest, DoesNotWaitForeverForABlock) {
  open();
  std::string begun(kHttp2FrameHeadBytes, '\0');
  writeFrameHead({0, Http2FrameType::Headers, 0, 1}, begun.data());
  client->say(begun);
  turn();
  passTime(context.limits.header_read + std::chrono::seconds(1));
  EXPECT_EQ(handlers.log.count("refused 408 header-timeout"), 1U);
  EXPECT_TRUE(client->connection_ended);
}

TEST_F(Http2ServerSessionTest, AnswersHeadsOverALimit) {
  context.limits.head.fields_max = 3;
  open();
  client->request("/echo", true, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  turn();
  EXPECT_EQ(client->heads[1], "431 ");
  EXPECT_EQ(handlers.log.count("refused 431 too-many-fields"), 1U);
}

}  // namespace
}  // namespace flamegate::proxy
