#include "proxy/session/http2_client_session.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

using Kind = Http2Event::Kind;

// An application at frame level: takes what comes, and answers as the test says.
class FakeApplication {
 public:
  FakeApplication(UniqueFd fd, Http2Options options)
      : fd_(std::move(fd)), codec_(options, memory_, pool_, out_) {
    codec_.start();
  }

  void receive() {
    in_ += receiveSome(fd_.get(), 1 << 20);
    for (;;) {
      const Http2Event event = codec_.next(in_);
      if (event.kind == Kind::Content) {
        content[event.id] += event.content;
        codec_.consume(*event.stream, event.content.size());
      }
      if (event.kind == Kind::Head) onHead(event);
      if (event.end) ended.push_back(event.id);
      if (event.kind == Kind::Reset) {
        resets.push_back(event.id);
        codec_.close(*event.stream);
        streams.erase(event.id);
      }
      if (event.kind == Kind::Failed) ADD_FAILURE() << codec_.failure();
      in_.erase(0, event.used);
      if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) break;
    }
    flush();
  }

  void respond(uint32_t id, std::vector<HpackField> fields, std::string_view body,
               bool end = true) {
    Http2Stream& stream = *streams.at(id);
    codec_.sendBlock(stream, fields, end && body.empty());
    if (body.empty()) return flush();
    char head[kHttp2FrameHeadBytes];
    codec_.beginData(stream, body.size(), end, head);
    out_.append({head, sizeof head});
    out_.append(body);
    flush();
  }
  void trailers(uint32_t id, std::vector<HpackField> fields) {
    codec_.sendBlock(*streams.at(id), fields, true);
    flush();
  }
  void reset(uint32_t id, Http2Error error) {
    codec_.sendReset(*streams.at(id), error);
    codec_.close(*streams.at(id));
    flush();
  }
  void goAway(uint32_t last) {
    appendGoAway(last, Http2Error::NoError, {}, out_);
    flush();
  }
  void say(std::string_view bytes) {
    out_.append(bytes);
    flush();
  }
  void leave() { fd_.reset(); }

  std::map<uint32_t, std::string> heads;
  std::map<uint32_t, std::string> content;
  std::map<uint32_t, std::unique_ptr<Http2Stream>> streams;
  std::vector<uint32_t> ended;
  std::vector<uint32_t> resets;

 private:
  void onHead(const Http2Event& event) {
    std::string text;
    HpackField field;
    while (codec_.nextField(field))
      text.append(field.name).append("=").append(field.value).append("|");
    heads[event.id] += text;
    if (event.stream != nullptr) return;
    streams[event.id] = std::make_unique<Http2Stream>();
    codec_.open(*streams[event.id], event.id, event.end);
  }
  void flush() {
    sendSome(fd_.get(), out_.view());
    out_.clear();
  }

  UniqueFd fd_;
  HpackMemory memory_;
  BufferPool pool_;
  Buffer out_{pool_};
  Http2Codec codec_;
  std::string in_;
};

// One request as an exchange would make it; notes what came.
struct Loan final : ClientStreamEvents {
  void onUpstreamReady() override {
    while (stream->readHead()) {
      statuses.push_back(stream->response().status);
      framing = stream->response().framing;
    }
    while (takes && !stream->content().empty()) {
      body += stream->content();
      stream->consume(stream->content().size());
    }
    if (stream->failure() != nullptr) failure = *stream->failure();
    done = stream->responseEnded();
  }

  ClientStream* stream = nullptr;
  std::vector<uint16_t> statuses;
  std::string body;
  Framing framing = Framing::None;
  Error failure{ErrorCode::Io, ErrorSource::Internal, Retry::No, "none"};
  bool takes = true;
  bool done = false;
};

struct Http2ClientSessionTest : testing::Test, ClientSessionOwner {
  void open(Http2Options options = {.server = true}) {
    SocketPair pair = makeSocketPair();
    application = std::make_unique<FakeApplication>(std::move(pair.peer), options);
    auto connection = std::make_unique<Connection>(*loop, std::move(pair.ours), no_events,
                                                   Readiness{.readable = true, .writable = true});
    session = std::make_unique<Http2ClientSession>(
        context, std::move(connection), Buffer(loop->buffers()), nullptr, *this);
    ASSERT_TRUE(session->start());
    turn();
  }
  ~Http2ClientSessionTest() override {
    session.reset();
    loop.reset();
  }

  void turn() {
    for (int i = 0; i < 3; ++i) {
      settle(*loop);
      application->receive();
      settle(*loop);
    }
  }
  void request(Loan& loan, Framing framing = Framing::None) {
    loan.stream = &session->begin(loan);
    RequestHead head;
    head.method = framing == Framing::None ? Method::Get : Method::Post;
    head.method_text = framing == Framing::None ? "GET" : "POST";
    head.target = "/path";
    head.authority = "app.test";
    head.framing = framing;
    loan.stream->sendHead(head);
    if (framing == Framing::None) loan.stream->sendEnd(nullptr);
  }

  void onSessionLost(ClientSession& session_lost, const Error* why) override {
    ++lost;
    never_stood = why != nullptr;
    session_lost.retire();
  }
  void onStreamsFree(ClientSession&) override { ++freed; }
  void onSessionReplaced(ClientSession&, std::unique_ptr<ClientSession>) override {}

  struct NoEvents final : ConnectionEvents {
    void onReady() override {}
  } no_events;
  std::unique_ptr<EventLoop> loop = makeLoop();
  Http2Shared shared;
  ObjectPool<Http2ClientStream> streams;
  Http2ClientContext context{*loop, shared, streams, {}};
  std::unique_ptr<FakeApplication> application;
  std::unique_ptr<Http2ClientSession> session;
  int lost = 0;
  bool never_stood = false;
  int freed = 0;
};

TEST_F(Http2ClientSessionTest, LendsStreamsOnceTheApplicationSaysHowMany) {
  open({.server = true, .streams_max = 2});
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(session->streamsFree(), 2U);
  Loan one;
  request(one);
  EXPECT_EQ(session->streamsFree(), 1U);
  session->end(*one.stream);
  EXPECT_EQ(session->streamsFree(), 2U);
}

TEST_F(Http2ClientSessionTest, CarriesSeveralRequestsAtATime) {
  open();
  Loan one;
  Loan two;
  request(one);
  request(two);
  turn();
  EXPECT_EQ(application->heads[1], ":method=GET|:scheme=http|:authority=app.test|:path=/path|");
  application->respond(3, {{":status", "200"}}, "second");
  application->respond(1, {{":status", "404"}, {"content-length", "5"}}, "first");
  turn();
  EXPECT_EQ(one.body, "first");
  EXPECT_EQ(one.statuses, std::vector<uint16_t>{404});
  EXPECT_EQ(one.framing, Framing::Length);
  EXPECT_EQ(two.body, "second");
  EXPECT_TRUE(one.done && two.done);
  session->end(*one.stream);
  session->end(*two.stream);
  turn();
  EXPECT_TRUE(application->resets.empty());
}

TEST_F(Http2ClientSessionTest, SendsContentAndTrailers) {
  open();
  Loan loan;
  request(loan, Framing::Chunked);
  EXPECT_EQ(loan.stream->sendContent("content"), 7U);
  FieldList trailers;
  trailers.add("X-Sum", "9");
  loan.stream->sendEnd(&trailers);
  turn();
  EXPECT_EQ(application->content[1], "content");
  EXPECT_TRUE(application->heads[1].ends_with("x-sum=9|"));
  EXPECT_EQ(application->ended, std::vector<uint32_t>{1});
  session->end(*loan.stream);
}

TEST_F(Http2ClientSessionTest, TakesInterimHeadsAndTrailers) {
  open();
  Loan loan;
  request(loan);
  turn();
  application->respond(1, {{":status", "103"}}, "", false);
  application->respond(1, {{":status", "200"}}, "body", false);
  application->trailers(1, {{"grpc-status", "0"}, {"host", "forbidden"}});
  turn();
  EXPECT_EQ(loan.statuses, (std::vector<uint16_t>{103, 200}));
  ASSERT_NE(loan.stream->trailers(), nullptr);
  EXPECT_EQ(loan.stream->trailers()->begin()->value(), "0");
  EXPECT_EQ(loan.stream->trailers()->find("host"), nullptr);
  EXPECT_TRUE(loan.done);
  session->end(*loan.stream);
}

TEST_F(Http2ClientSessionTest, ATrailersOnlyAnswerHasNoContent) {
  open();
  Loan loan;
  request(loan);
  turn();
  application->respond(1, {{":status", "200"}, {"grpc-status", "5"}}, "");
  turn();
  EXPECT_TRUE(loan.done);
  EXPECT_EQ(loan.stream->response().fields.find("grpc-status")->value(), "5");
  session->end(*loan.stream);
}

TEST_F(Http2ClientSessionTest, RefusedStreamsMayBeTriedAgain) {
  open();
  Loan refused;
  Loan broken;
  request(refused, Framing::Chunked);
  request(broken, Framing::Chunked);
  turn();
  application->reset(1, Http2Error::RefusedStream);
  application->reset(3, Http2Error::InternalError);
  turn();
  EXPECT_EQ(refused.failure.retry, Retry::Yes);
  EXPECT_EQ(broken.failure.retry, Retry::IfUnanswered);
  session->end(*refused.stream);
  session->end(*broken.stream);
}

TEST_F(Http2ClientSessionTest, AGoAwayLetsEarlierStreamsEnd) {
  open();
  Loan kept;
  Loan above;
  request(kept);
  request(above);
  turn();
  application->goAway(1);
  turn();
  EXPECT_TRUE(session->spent());
  EXPECT_EQ(above.failure.retry, Retry::Yes);
  application->respond(1, {{":status", "200"}}, "kept");
  turn();
  EXPECT_EQ(kept.body, "kept");
  session->end(*kept.stream);
  session->end(*above.stream);
  EXPECT_EQ(session->lent(), 0U);
}

TEST_F(Http2ClientSessionTest, ALostConnectionFailsWhatWasUnanswered) {
  open();
  Loan done;
  Loan waiting;
  request(done);
  request(waiting);
  turn();
  application->respond(1, {{":status", "200"}}, "done");
  turn();
  application->leave();
  settle(*loop);
  EXPECT_TRUE(session->spent());
  EXPECT_EQ(done.failure.detail, "none");
  EXPECT_EQ(waiting.failure.retry, Retry::IfUnanswered);
  session->end(*done.stream);
  session->end(*waiting.stream);
}

TEST_F(Http2ClientSessionTest, AnIdleSessionTellsOfItsEnd) {
  open();
  EXPECT_TRUE(session->probeIdle());
  application->leave();
  settle(*loop);
  EXPECT_EQ(lost, 1);
}

TEST_F(Http2ClientSessionTest, AGoAwayEndsAnIdleSession) {
  open();
  application->goAway(0);
  turn();
  EXPECT_EQ(lost, 1);
  EXPECT_FALSE(never_stood);
}

TEST_F(Http2ClientSessionTest, TellsWhyItNeverStood) {
  SocketPair pair = makeSocketPair();
  sendSome(pair.peer.get(), "HTTP/1.1 400 Bad Request\r\n\r\n");
  auto connection = std::make_unique<Connection>(*loop, std::move(pair.ours), no_events,
                                                 Readiness{.readable = true, .writable = true});
  session = std::make_unique<Http2ClientSession>(
        context, std::move(connection), Buffer(loop->buffers()), nullptr, *this);
  ASSERT_TRUE(session->start());
  settle(*loop);
  EXPECT_EQ(lost, 1);
  EXPECT_TRUE(never_stood);
}

TEST_F(Http2ClientSessionTest, MalformedResponsesFailTheirStreamAlone) {
  open();
  Loan bad;
  Loan good;
  request(bad);
  request(good);
  turn();
  application->respond(1, {{":status", "200"}, {"connection", "close"}}, "");
  application->respond(3, {{":status", "200"}}, "good");
  turn();
  EXPECT_EQ(bad.failure.code, ErrorCode::Malformed);
  EXPECT_EQ(good.body, "good");
  session->end(*bad.stream);
  session->end(*good.stream);
}

TEST_F(Http2ClientSessionTest, HoldsBackWhatNobodyTakes) {
  open();
  Loan loan;
  loan.takes = false;
  request(loan);
  turn();
  application->respond(1, {{":status", "200"}}, std::string(16'000, 'x'), false);
  turn();
  EXPECT_EQ(loan.stream->content().size(), 16'000U);
  loan.takes = true;
  loan.onUpstreamReady();
  EXPECT_EQ(loan.body.size(), 16'000U);
  EXPECT_TRUE(loan.stream->content().empty());
  session->end(*loan.stream);
  turn();
  EXPECT_EQ(application->resets, std::vector<uint32_t>{1});
}

}  // namespace
}  // namespace flamegate::proxy
