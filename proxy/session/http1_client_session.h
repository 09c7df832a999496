// A connection to an application that speaks HTTP/1.
#pragma once

#include <memory>

#include "proxy/base/object_pool.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_parser.h"
#include "proxy/http/http1_writer.h"
#include "proxy/net/address.h"
#include "proxy/net/connection.h"
#include "proxy/session/client_stream.h"
#include "proxy/session/http1_output.h"

namespace flamegate::proxy {

// The part of a client session that only lives while a response is awaited.
struct Http1Response {
  explicit Http1Response(BufferPool& pool) : pinned(pool) {}

  ResponseHead head;
  FieldList trailers;
  Http1BodyDecoder body;
  std::string repaired;         // a head that had to be brought into strict form
  std::string trailer_section;  // what `trailers` points into
  Buffer pinned;                // the block that `head` points into, once content is read elsewhere
};

class Http1ClientSession;

// What the sessions of one loop share. Outlives them.
struct ClientSessionContext {
  EventLoop& loop;
  ObjectPool<Http1Response>& responses;
  Http1Limits limits;
};

// Told when an idle session cannot be used again.
class IdleSessionOwner {
 public:
  // Once: the application closed the connection, or sent what nobody asked for (RFC 9112 §9.2).
  virtual void onIdleSessionLost(Http1ClientSession& session) = 0;

 protected:
  ~IdleSessionOwner() = default;
};

// One request at a time, then idle until the next.
// Owner: an upstream pool. Thread: the loop's. Ends: when the pool drops it.
class Http1ClientSession final : public Deletable,
                                 public ListNode<>,
                                 public ClientStream,
                                 private ConnectionEvents {
 public:
  // Begins to connect; a failure of that shows as failure().
  static Result<std::unique_ptr<Http1ClientSession>> connect(ClientSessionContext& context,
                                                             const Address& address,
                                                             size_t endpoint,
                                                             IdleSessionOwner& owner);
  ~Http1ClientSession() override;

  // Lends the stream for one request.
  void begin(ClientStreamEvents& events);
  // Ends the loan; true when the connection can carry another request.
  bool end();
  // The pool is done with it: no event comes any more until it is destroyed.
  void retire() { connection_.stop(); }
  // Whether the application has, as far as the kernel knows by now, left an idle connection open and
  // quiet. One system call, for requests that may not be sent twice.
  bool probeIdle() const;

  // The owner's number for the address.
  size_t endpoint() const { return endpoint_; }
  TimePoint idleSince() const { return idle_since_; }

  // Whether any byte of the request may have reached the application.
  bool anythingSent() const { return out_.bytesSent() > 0; }

  // ClientStream
  bool connected() const override { return connected_; }
  bool reused() const override { return reused_; }
  const Error* failure() const override { return failed_ ? &failure_ : nullptr; }
  void sendHead(const RequestHead& head) override;
  size_t sendContent(std::string_view content) override;
  void sendEnd(const FieldList* trailers) override;
  void flush() override;
  bool flushed() const override { return request_ended_ && out_.gathered().empty(); }
  bool readHead() override;
  ResponseHead& response() override { return response_->head; }
  std::string_view content() override;
  void consume(size_t bytes) override;
  bool responseEnded() const override;
  const FieldList* trailers() const override;
  void startTunnel() override;
  void closeWrite() override { connection_.closeWrite(); }

 private:
  Http1ClientSession(ClientSessionContext& context, UniqueFd fd, size_t endpoint,
                     IdleSessionOwner& owner);

  void onReady() override;
  void fail(ErrorCode code, std::string detail);
  void failInput(const IoResult& result);
  ParseResult parseHead();
  void takeHead(size_t head_bytes);
  void pinHead();
  void consumeInput(size_t bytes);
  bool quiet();

  ClientSessionContext& context_;
  IdleSessionOwner& owner_;
  const size_t endpoint_;
  Connection connection_;
  Buffer in_;
  Http1Output out_;
  std::unique_ptr<Http1Response> response_;
  ClientStreamEvents* events_ = nullptr;
  Error failure_;
  TimePoint idle_since_;
  size_t seen_ = 0;
  size_t head_bytes_ = 0;
  Method method_ = Method::Get;
  bool connected_ = false;
  bool reused_ = false;
  bool failed_ = false;
  bool request_ended_ = false;
  bool received_any_ = false;  // a byte of the present response
  bool final_head_ = false;
  bool keep_alive_ = true;
  bool tunnel_ = false;
  bool input_ended_ = false;
};

}  // namespace flamegate::proxy
