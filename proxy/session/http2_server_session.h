// A client connection that speaks HTTP/2.
#pragma once

#include <memory>

#include "proxy/base/object_pool.h"
#include "proxy/base/owning_list.h"
#include "proxy/http/http2_message.h"
#include "proxy/session/http1_server_session.h"
#include "proxy/session/http2_content.h"
#include "proxy/session/http2_wire.h"
#include "proxy/session/peer.h"
#include "proxy/session/stream.h"

namespace flamegate::proxy {

class Http2ServerSession;

// One request on the connection and its response. Used again for others when it is over.
// Owner: its session while it is open, else a pool.
class Http2ServerStream final : public Http2Stream,
                                public ListNode<>,
                                public ListNode<struct Http2Touched>,
                                public ListNode<struct Http2Blocked>,
                                public ServerStream {
 public:
  explicit Http2ServerStream(BufferPool& pool)
      : memory_(pool), trailer_memory_(pool), arrived_(pool) {}

  // ServerStream
  RequestHead& request() override { return head_; }
  const RequestHead& request() const override { return head_; }
  const Peer& peer() const override;
  Arena& arena() override { return arena_; }
  const Error* failure() const override { return failed_ ? &failure_ : nullptr; }
  std::string_view content() override { return arrived_.view(); }
  void consume(size_t bytes) override;
  bool requestEnded() const override;
  const FieldList* trailers() const override { return has_trailers_ ? &trailers_ : nullptr; }
  void sendInterim(const ResponseHead& head) override;
  void sendHead(ResponseHead& head) override;
  size_t sendContent(std::string_view content) override;
  void sendEnd(const FieldList* trailers) override;
  void closeAfterResponse() override {}
  void breakOff() override { broken_off_ = true; }
  void startTunnel() override { tunnel_ = true; }
  void finishTurn() override;
  uint64_t bytesSent() const override { return bytes_sent_; }

 private:
  friend class Http2ServerSession;

  void begin(Http2ServerSession& session) { session_ = &session; }
  // As it was made.
  void reset();
  void fail(ErrorCode code, std::string detail);
  void sendBlock(std::span<const HpackField> fields, bool end);

  Http2ServerSession* session_ = nullptr;
  StreamHandler* handler_ = nullptr;
  RequestHead head_;
  FieldList trailers_;
  Buffer memory_;          // what head_ points into
  Buffer trailer_memory_;  // what trailers_ points into
  Arena arena_;
  Http2Content arrived_;
  Error failure_;
  uint64_t bytes_sent_ = 0;
  uint64_t last_frame_ = 0;  // of content, see Http2Wire
  bool failed_ = false;
  bool has_trailers_ = false;
  bool head_sent_ = false;
  bool no_content_ = false;  // the response has none by definition
  bool response_ended_ = false;
  bool broken_off_ = false;
  bool tunnel_ = false;
};

// A connection that turned out to speak HTTP/2, with what was read of it.
struct Http2Handover {
  std::unique_ptr<Connection> connection;
  Buffer input;
  const Peer& peer;
};

// What the sessions of one listener on one loop share. Outlives them.
struct Http2ServerContext {
  EventLoop& loop;
  HandlerFactory& handlers;
  Http2Shared& shared;
  ObjectPool<Http2ServerStream>& streams;
  ServerSessionLimits limits;
  // Told once when a session is over; the owner hands it to deleteLater.
  void (*on_closed)(void* owner, Http2ServerSession& session) = nullptr;
  void* owner = nullptr;
};

// Serves many requests at a time. Each turn reads what is there, lets the handlers go on, and
// writes the frames of all streams together. Owner: a worker's list. Thread: the loop's. Ends:
// on_closed.
class Http2ServerSession final : public Deletable,
                                 public ListNode<>,
                                 private ConnectionEvents,
                                 private Resumable {
 public:
  Http2ServerSession(Http2ServerContext& context, Http2Handover handover);
  ~Http2ServerSession() override;

  // Serves what is there already; on_closed may come from within.
  void start();
  // Lets the streams that are open end, and takes no more of them (RFC 9113 §6.8).
  void drain();

 private:
  friend class Http2ServerStream;
  enum class Phase : uint8_t {
    Open,
    Closing,    // GOAWAY is to be written
    Lingering,  // our direction is closed; waiting for the client to close its own
    Closed,
  };
  // What the timer waits for.
  enum class Wait : uint8_t { None, Frame, Write, Idle, Drain, Linger };

  void onReady() override { runTurn(); }
  void resume() override { runTurn(); }

  void runTurn();
  void readEvents();
  void onEvent(const Http2Event& event);
  void onHead(const Http2Event& event);
  void onTrailers(const Http2Event& event);
  void onContent(const Http2Event& event);
  void onReset(const Http2Event& event);
  void refuse(Http2ServerStream& stream, Http2Fault fault);
  void touch(Http2ServerStream& stream);
  void endTouched();
  void progress(Http2ServerStream& stream);
  void endStream(Http2ServerStream& stream);
  void failAll(ErrorCode code, std::string_view detail);
  void serveBlocked();
  void flush();
  void closeIfOver();
  void linger();
  void close();
  void armTimer();
  void onTimer();

  Http2Codec& codec() { return wire_.codec(); }

  Http2ServerContext& context_;
  Peer peer_;
  char peer_text_[kPeerTextBytes];
  Http2Wire wire_;
  Timer timer_;
  OwningList<Http2ServerStream> streams_;
  IntrusiveList<Http2ServerStream, Http2Touched> touched_;  // over, to be ended
  IntrusiveList<Http2ServerStream, Http2Blocked> blocked_;  // have content that was not taken
  TimePoint refilled_at_;
  uint64_t written_at_arming_ = 0;
  size_t lingered_bytes_ = 0;
  Phase phase_ = Phase::Open;
  Wait wait_ = Wait::None;
  bool in_turn_ = false;
  bool draining_ = false;
};

}  // namespace flamegate::proxy
