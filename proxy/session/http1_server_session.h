// A client connection that speaks HTTP/1.
#pragma once

#include <memory>

#include "proxy/base/object_pool.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_parser.h"
#include "proxy/http/http1_writer.h"
#include "proxy/net/address.h"
#include "proxy/net/connection.h"
#include "proxy/session/http1_output.h"
#include "proxy/session/peer.h"
#include "proxy/session/stream.h"

namespace flamegate::proxy {

// The part of a session that only lives while a request is there, so that an idle connection is small.
struct Http1Message {
  explicit Http1Message(BufferPool& pool) : pinned(pool) {}

  RequestHead head;
  FieldList trailers;
  Http1BodyDecoder body;
  Arena arena;
  Buffer pinned;  // the block that `head` points into, once content is read into another
};

struct ServerSessionLimits {
  Http1Limits head;
  Duration header_read = std::chrono::seconds(30);
  Duration idle = std::chrono::seconds(75);
  size_t h2_streams = 100;  // that a client may have open at a time
};

class Http1ServerSession;
struct Http2Handover;

// What the sessions of one listener on one loop share. Outlives them.
struct ServerSessionContext {
  EventLoop& loop;
  HandlerFactory& handlers;
  ObjectPool<Http1Message>& messages;
  ServerSessionLimits limits;
  // Told once when a session is over; the owner hands it to deleteLater.
  void (*on_closed)(void* owner, Http1ServerSession& session) = nullptr;
  void* owner = nullptr;
  // Told once, instead of on_closed, when the first bytes are those of HTTP/2 (RFC 9113 §3), or the TLS
  // handshake agreed on it. Null: this listener speaks HTTP/1 alone.
  void (*on_http2)(void* owner, Http1ServerSession& session, Http2Handover handover) = nullptr;
};

// Reads requests one after the other (RFC 9112 §9.3.2), gives each to a handler and writes its
// response; then waits for the next, lingers, or closes.
// Owner: a worker's or server's list. Thread: the loop's. Ends: on_closed.
class Http1ServerSession final : public Deletable,
                                 public ListNode<>,
                                 private ConnectionEvents,
                                 private Resumable,
                                 private ServerStream {
 public:
  Http1ServerSession(ServerSessionContext& context, UniqueFd fd, const Address& peer,
                     size_t listener);
  ~Http1ServerSession() override;

  // Before start(): TLS over the connection's descriptor.
  Connection& connection() { return *connection_; }
  void setSecure(std::unique_ptr<Transport> transport);
  // Serves what is there already; on_closed may come from within.
  void start();

  // Ends an idle connection now, a busy one after its response.
  void drain();

 private:
  enum class Phase : uint8_t {
    Request,   // no handler: waiting for a head, or reading one
    Serving,   // a handler has the stream
    Skipping,  // the response is out; the rest of the request's content is dropped
    Lingering, // our direction is closed; waiting for the client to close its own
    Closed,
  };

  // ConnectionEvents
  void onReady() override;
  // Resumable
  void resume() override { runTurn(); }

  // ServerStream
  RequestHead& request() override { return message_->head; }
  const RequestHead& request() const override { return message_->head; }
  const Peer& peer() const override { return peer_; }
  Arena& arena() override { return message_->arena; }
  const Error* failure() const override { return failed_ ? &failure_ : nullptr; }
  std::string_view content() override;
  void consume(size_t bytes) override;
  bool requestEnded() const override;
  const FieldList* trailers() const override;
  void sendInterim(const ResponseHead& head) override;
  void sendHead(ResponseHead& head) override;
  size_t sendContent(std::string_view content) override;
  void sendEnd(const FieldList* trailers) override;
  void closeAfterResponse() override { close_after_ = true; }
  void breakOff() override { broken_off_ = true; }
  void startTunnel() override;
  void finishTurn() override { runTurn(); }
  uint64_t bytesSent() const override { return out_.bytesSent(); }

  void runTurn();
  void watchIfNeeded();
  void watch();
  bool step();
  bool sendRest();
  bool readRequest();
  bool readFirstBytes();
  void handOver();
  void beginRequest(size_t head_bytes);
  void endRequest();
  bool skipContent();
  bool mustLinger() const;
  bool endOutput();
  void finishConnection();
  bool linger();
  void refuse(uint16_t status, std::string_view reason);
  void close();
  void becomeIdle();
  void flush();
  void probeClient();
  IoResult readSome(size_t room);
  void consumeInput(size_t bytes);
  void pinHead();
  void fail(ErrorCode code, std::string detail);
  void noteWriteFailure();
  void onTimer();

  ServerSessionContext& context_;
  std::unique_ptr<Connection> connection_;  // null once it was handed over
  Buffer in_;   // begins at the head of the present request until that is pinned
  Http1Output out_;
  Timer timer_;
  std::unique_ptr<Http1Message> message_;
  StreamHandler* handler_ = nullptr;
  Peer peer_;
  char peer_text_[kPeerTextBytes];
  Error failure_;
  size_t seen_ = 0;         // bytes of an incomplete head that were looked at
  size_t head_bytes_ = 0;   // at the front of in_ while the head is there; 0 once it is pinned
  size_t skipped_bytes_ = 0;
  Phase phase_ = Phase::Request;
  bool failed_ = false;
  bool failure_told_ = false;
  bool in_turn_ = false;
  bool head_sent_ = false;
  bool response_ended_ = false;
  bool continue_sent_ = false;
  bool close_after_ = false;
  bool broken_off_ = false;
  bool tunnel_ = false;
  bool input_ended_ = false;
  bool draining_ = false;
  bool protocol_known_ = false;  // to be HTTP/1
};

}  // namespace flamegate::proxy
