// A connection to an application whose TLS handshake is to say which protocol follows (ALPN).
#pragma once

#include <memory>

#include "proxy/net/connection.h"
#include "proxy/session/client_session.h"

namespace flamegate::proxy {

// Lends nothing. When the handshake is over, a session of the protocol that it chose takes the
// connection: HTTP/2 for "h2", else HTTP/1.
// Owner: an upstream pool. Thread: the loop's. Ends: onSessionReplaced() or onSessionLost().
class NegotiatingSession final : public ClientSession, private ConnectionEvents {
 public:
  // Over a connect that has begun, with a TLS transport. start() comes next.
  NegotiatingSession(ClientSessionContext& context, std::unique_ptr<Connection> connection,
                     void* endpoint, ClientSessionOwner& owner);

  Result<> start();

  // ClientSession
  size_t streamsFree() const override { return 0; }
  bool spent() const override { return over_; }
  ClientStream& begin(ClientStreamEvents& events) override;
  void end(ClientStream& stream) override;
  void retire() override;
  bool probeIdle() const override { return false; }

 private:
  void onReady() override;
  void replace();
  void fail(const IoResult& result);

  ClientSessionContext& context_;
  ClientSessionOwner& owner_;
  std::unique_ptr<Connection> connection_;  // null once it was handed on
  Buffer in_;                               // what came behind the handshake
  bool over_ = false;
};

}  // namespace flamegate::proxy
