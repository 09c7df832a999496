// A connection to an application that speaks HTTP/1.
#pragma once

#include <memory>

#include "proxy/http/http1_body.h"
#include "proxy/http/http1_writer.h"
#include "proxy/net/connection.h"
#include "proxy/session/client_session.h"
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

// One request at a time, then idle until the next.
// Owner: an upstream pool. Thread: the loop's. Ends: when the pool drops it.
class Http1ClientSession final : public ClientSession,
                                 public ClientStream,
                                 private ConnectionEvents {
 public:
  // Over a connect that has begun; a failure of that shows as failure(). start() comes next.
  Http1ClientSession(ClientSessionContext& context, UniqueFd fd, void* endpoint,
                     ClientSessionOwner& owner);
  // Over a connection whose connect, or TLS handshake, has begun or is over.
  Http1ClientSession(ClientSessionContext& context, std::unique_ptr<Connection> connection,
                     void* endpoint, ClientSessionOwner& owner);
  ~Http1ClientSession() override;

  // Before start(), for a transport to be set.
  Connection& connection() { return *connection_; }
  Result<> start() { return connection_->start(); }

  // ClientSession
  size_t streamsFree() const override { return lent() == 0 && usable_ ? 1 : 0; }
  bool spent() const override { return !usable_; }
  ClientStream& begin(ClientStreamEvents& events) override;
  void end(ClientStream& stream) override;
  void retire() override { connection_->stop(); }
  bool probeIdle() const override;

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
  void closeWrite() override { connection_->closeWrite(); }

 private:
  void onReady() override;
  void fail(ErrorCode code, std::string detail);
  void failInput(const IoResult& result);
  void failConnect(int error);
  void establish();
  bool endsWithConnection() const;
  ParseResult parseHead();
  void takeHead(size_t head_bytes);
  void pinHead();
  void consumeInput(size_t bytes);
  bool keepable();
  bool quiet();

  ClientSessionContext& context_;
  ClientSessionOwner& owner_;
  std::unique_ptr<Connection> connection_;
  Buffer in_;
  Http1Output out_;
  std::unique_ptr<Http1Response> response_;
  ClientStreamEvents* events_ = nullptr;
  Error failure_;
  size_t seen_ = 0;
  size_t head_bytes_ = 0;
  Method method_ = Method::Get;
  bool usable_ = true;  // by another request
  bool connected_;
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
