// Handlers that answer as the request's path says, and a server session over one end of a pair of
// sockets that uses them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/base/strings.h"
#include "proxy/session/http1_server_session.h"
#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {

// What the handlers of a test have seen.
struct HandlerLog {
  std::vector<std::string>
      events;                  // "begin /path", "failure reset", "refused 408 header-timeout", …
  uint64_t content_taken = 0;  // bytes of response content that sessions took
  size_t begun = 0;
  size_t ended = 0;

  size_t count(std::string_view event) const {
    return static_cast<size_t>(std::count(events.begin(), events.end(), event));
  }
};

// /echo      answers method, target and content once the request has ended
// /early     answers at once and leaves the content where it is
// /late      answers when told to
// /bytes?N   answers N bytes, chunked, as fast as they are taken; /sized?N with Content-Length
// /empty     204
// /hints     103, then as /echo
// /continue  100, then as /echo
// /tunnel    101, then sends back what comes until the client's end of input
// /burst     101, then as many pieces of 1 KiB as are taken, and the end
class FakeHandler final : public StreamHandler {
 public:
  FakeHandler(ServerStream& stream, HandlerLog& log) : stream_(stream), log_(log) {}

  void onRequest() override {
    log_.events.push_back("begin " + std::string(stream_.request().path()));
    path_ = stream_.request().path();
    if (path_ == "/hints") sendInterim(103);
    if (path_ == "/continue") sendInterim(100);
    if (path_ == "/tunnel" || path_ == "/burst") switchProtocols();
    onProgress();
  }

  void onProgress() override {
    if (!ended_ && stream_.failure() != nullptr) {
      onFailure(*stream_.failure());
    } else if (!ended_) {
      act();
    }
    stream_.finishTurn();
  }

  // Lets /late answer.
  void release() {
    path_ = "/early";
    onProgress();
  }

 private:
  void act() {
    if (path_ == "/early") return answer("early");
    if (path_ == "/empty") return sendEmpty();
    if (path_ == "/bytes" || path_ == "/sized") return sendBytes();
    if (path_ == "/tunnel") return passOn();
    if (path_ == "/burst") return burst();
    if (path_ == "/late") return;
    takeContent();
    if (!stream_.requestEnded()) return;
    std::string text(stream_.request().method_text);
    text.append(" ").append(stream_.request().target).append(" ").append(body_);
    if (const FieldList* trailers = stream_.trailers()) {
      for (const Field& field : *trailers) text.append(" ").append(field.name());
    }
    answer(text);
  }

  void onFailure(const Error& failure) {
    log_.events.push_back("failure " + std::string(errorCodeName(failure.code)));
    if (failure.code == ErrorCode::Malformed) return answer("malformed");
    ended_ = true;
    stream_.breakOff();
  }

  void takeContent() {
    for (;;) {
      const std::string_view content = stream_.content();
      if (content.empty()) return;
      body_ += content;
      stream_.consume(content.size());
    }
  }

  void sendInterim(uint16_t status) {
    ResponseHead head;
    head.status = status;
    stream_.sendInterim(head);
  }

  void sendEmpty() {
    ResponseHead head;
    head.status = 204;
    stream_.sendHead(head);
    end();
  }

  void answer(std::string_view text) {
    ResponseHead head;
    head.reason = "OK";
    head.framing = text.empty() ? Framing::None : Framing::Length;
    head.content_length = text.size();
    head.fields.add("Content-Length", stream_.arena().copy(std::to_string(text.size())));
    stream_.sendHead(head);
    log_.content_taken += stream_.sendContent(text);
    end();
  }

  void sendBytes() {
    const uint64_t total = parseDecimal(stream_.request().query()).value_or(0);
    if (!head_sent_) {
      head_sent_ = true;
      ResponseHead head;
      head.reason = "OK";
      head.framing = path_ == "/sized" ? Framing::Length : Framing::Chunked;
      head.content_length = total;
      if (path_ == "/sized") head.fields.add("Content-Length", stream_.request().query());
      stream_.sendHead(head);
    }
    static const std::string block(50'000, 'b');
    while (sent_ < total) {
      const auto piece = std::string_view(block).substr(0, total - sent_);
      const size_t taken = stream_.sendContent(piece);
      sent_ += taken;
      log_.content_taken += taken;
      if (taken < piece.size()) return;
    }
    end();
  }

  void switchProtocols() {
    ResponseHead head;
    head.status = 101;
    head.upgrade = "test";
    stream_.sendHead(head);
    stream_.startTunnel();
  }

  void passOn() {
    for (;;) {
      const std::string_view content = stream_.content();
      if (content.empty()) break;
      stream_.consume(stream_.sendContent(content));
    }
    if (stream_.requestEnded()) end();
  }

  void burst() {
    const std::string piece(1024, 'p');
    while (stream_.sendContent(piece) == piece.size()) log_.content_taken += piece.size();
    end();
  }

  void end() {
    ended_ = true;
    stream_.sendEnd(nullptr);
  }

  ServerStream& stream_;
  HandlerLog& log_;
  std::string path_;
  std::string body_;
  uint64_t sent_ = 0;
  bool head_sent_ = false;
  bool ended_ = false;
};

class FakeHandlers final : public HandlerFactory {
 public:
  StreamHandler& beginHandler(ServerStream& stream) override {
    ++log.begun;
    handlers.push_back(std::make_unique<FakeHandler>(stream, log));
    return *handlers.back();
  }
  void endHandler(StreamHandler& handler) override {
    ++log.ended;
    std::erase_if(handlers, [&](const auto& each) { return each.get() == &handler; });
  }
  void onRefused(const Peer&, uint16_t status, std::string_view reason) override {
    log.events.push_back("refused " + std::to_string(status) + " " + std::string(reason));
  }
  bool draining() const override { return false; }

  HandlerLog log;
  std::vector<std::unique_ptr<FakeHandler>> handlers;
};

struct ServerSessionTest : testing::Test {
  ServerSessionTest() {
    context.owner = this;
    context.on_closed = [](void* self, Http1ServerSession&) {
      auto* test = static_cast<ServerSessionTest*>(self);
      test->loop->deleteLater(std::move(test->session));
    };
  }
  ~ServerSessionTest() override {
    session.reset();
    loop.reset();
  }

  void open(SocketPair pair = makeSocketPair()) {
    client = std::move(pair.peer);
    session = std::make_unique<Http1ServerSession>(context, std::move(pair.ours), Address(), 0);
    session->start();
  }
  bool closed() const { return session == nullptr; }

  void send(std::string_view bytes) { ASSERT_EQ(sendSome(client.get(), bytes), bytes.size()); }
  // What the client gets until nothing more comes; `client_ended` tells whether the session ended
  // its direction.
  std::string receive() {
    std::string out;
    for (int quiet = 0; quiet < 4;) {
      settle(*loop);
      const std::string got = receiveSome(client.get(), 1 << 20, &client_ended);
      quiet = got.empty() ? quiet + 1 : 0;
      out += got;
    }
    return out;
  }
  std::string ask(std::string_view bytes) {
    open();
    send(bytes);
    return receive();
  }
  // Moves the loop's timers on.
  void passTime(Duration time) {
    loop->timers().advance(monotonicNow() + time);
    settle(*loop);
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  FakeHandlers handlers;
  ObjectPool<Http1Message> messages;
  ServerSessionContext context{.loop = *loop,
                               .handlers = handlers,
                               .messages = messages,
                               .limits = {},
                               .on_closed = nullptr,
                               .owner = nullptr};
  UniqueFd client;
  std::unique_ptr<Http1ServerSession> session;
  bool client_ended = false;
};

}  // namespace flamegate::proxy
