// A connection to an application that speaks HTTP/2.
#pragma once

#include <memory>

#include "proxy/base/arena.h"
#include "proxy/base/owning_list.h"
#include "proxy/http/http2_message.h"
#include "proxy/session/client_session.h"
#include "proxy/session/http2_content.h"
#include "proxy/session/http2_wire.h"

namespace flamegate::proxy {

class Http2ClientSession;

// One request on the connection and its response. Used again for others when it is over.
// Owner: its session while it is lent, else a pool.
class Http2ClientStream final : public Http2Stream,
                                public ListNode<>,
                                public ListNode<struct Http2Blocked>,
                                public ListNode<struct Http2Failed>,
                                public ClientStream {
 public:
  explicit Http2ClientStream(BufferPool& pool)
      : memory_(pool), trailer_memory_(pool), arrived_(pool) {}

  // ClientStream
  bool connected() const override { return true; }
  bool reused() const override { return reused_; }
  const Error* failure() const override { return failed_ ? &failure_ : nullptr; }
  void sendHead(const RequestHead& head) override;
  size_t sendContent(std::string_view content) override;
  void sendEnd(const FieldList* trailers) override;
  void flush() override;
  // What follows on the stream keeps its order, so nobody has to wait.
  bool flushed() const override { return request_ended_; }
  bool readHead() override { return std::exchange(head_ready_, false); }
  ResponseHead& response() override { return head_; }
  std::string_view content() override { return arrived_.view(); }
  void consume(size_t bytes) override;
  bool responseEnded() const override;
  const FieldList* trailers() const override { return has_trailers_ ? &trailers_ : nullptr; }
  void startTunnel() override {}
  void closeWrite() override;

 private:
  friend class Http2ClientSession;

  void begin(Http2ClientSession& session, ClientStreamEvents& events, bool reused);
  // As it was made.
  void reset();
  void fail(ErrorCode code, Retry retry, std::string detail);
  // How safe a retry is after the connection or the stream broke (RFC 9113 §8.7).
  Retry retryAfterLoss() const;
  void takeTunnelHead();

  Http2ClientSession* session_ = nullptr;
  ClientStreamEvents* events_ = nullptr;
  ResponseHead head_;
  FieldList trailers_;
  Buffer memory_;          // what head_ points into
  Buffer trailer_memory_;  // what trailers_ points into
  Arena arena_;
  Http2Content arrived_;
  std::string_view websocket_key_;
  Error failure_;
  uint64_t head_at_ = 0;     // in the session's output
  uint64_t last_frame_ = 0;  // of content, see Http2Wire
  Method method_ = Method::Get;
  bool reused_ = false;
  bool failed_ = false;
  bool tunnel_asked_ = false;
  bool request_ended_ = false;
  bool head_ready_ = false;
  bool answered_ = false;  // something came for it
  bool response_complete_ = false;
  bool has_trailers_ = false;
};

// What the sessions of one loop share. Outlives them.
struct Http2ClientContext {
  EventLoop& loop;
  Http2Shared& shared;
  ObjectPool<Http2ClientStream>& streams;
  Http1Limits limits;
};

// Many requests at a time, as many as the application allows. Nothing is lent before it has said
// how many, by its SETTINGS; an application that takes no more (GOAWAY) lets the loans end. Owner:
// an upstream pool. Thread: the loop's. Ends: when the pool drops it.
class Http2ClientSession final : public ClientSession, private ConnectionEvents, private Resumable {
 public:
  // Over a connection that stands, or whose connect has begun; `input` was read from it already.
  // start() comes next.
  Http2ClientSession(Http2ClientContext& context, std::unique_ptr<Connection> connection,
                     Buffer input, void* endpoint, ClientSessionOwner& owner);
  ~Http2ClientSession() override;

  Result<> start();

  // ClientSession
  size_t streamsFree() const override;
  bool spent() const override { return spent_; }
  ClientStream& begin(ClientStreamEvents& events) override;
  void end(ClientStream& stream) override;
  void retire() override;
  bool probeIdle() const override;

 private:
  friend class Http2ClientStream;

  void onReady() override { runTurn(); }
  void resume() override { runTurn(); }

  void runTurn();
  void readEvents();
  void onEvent(const Http2Event& event);
  void onHead(Http2ClientStream& stream, bool end);
  void onTrailers(Http2ClientStream& stream);
  void onContent(const Http2Event& event);
  void onReset(const Http2Event& event);
  void onGoAway(const Http2Event& event);
  void refuseResponse(Http2ClientStream& stream, std::string_view fault);
  void serveBlocked();
  void tellFailed();
  void checkEnd();
  void lose(ErrorCode code, std::string_view detail);
  // Gives the turn to the stream's user, who may end the loan; true when it did not.
  bool progress(Http2ClientStream& stream);
  void touch();

  Http2Codec& codec() { return wire_.codec(); }
  const Http2Codec& codec() const { return wire_.codec(); }

  Http2ClientContext& context_;
  ClientSessionOwner& owner_;
  const bool secure_;
  Http2Wire wire_;
  OwningList<Http2ClientStream> streams_;
  IntrusiveList<Http2ClientStream, Http2Blocked> blocked_;  // have content that was not taken
  IntrusiveList<Http2ClientStream, Http2Failed> failed_;    // to be told
  Http2ClientStream* current_ = nullptr;                    // whose user has its turn
  Error failure_;                                           // once lost_
  uint64_t begun_ = 0;
  bool in_turn_ = false;
  bool stood_ = false;  // SETTINGS came
  bool spent_ = false;
  bool lost_ = false;
  bool retired_ = false;
};

}  // namespace flamegate::proxy
