// TLS by OpenSSL 3: the client's side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/net/tls_identity.h"
#include "proxy/net/transport.h"

namespace flamegate::proxy {

struct TlsClientOptions {
  bool verify = true;  // chain, dates and name of the server's certificate
  std::shared_ptr<const TlsAuthorities> authorities = {};  // null: the system's
  std::shared_ptr<const TlsIdentity> identity = {};        // our own; null: none
  std::vector<std::string> alpn = {};  // offered, in order of preference; empty: ALPN is not used
};

// How we speak TLS to servers of one kind. Remembers their last sessions, so that the next
// handshake with the same server is short. Immutable but for these; a value, copies share what they
// hold. Thread: any; sessions are locked, and handshakes alone come to them.
class TlsClientContext {
 public:
  // Errors: Io, source Config, when OpenSSL refuses the identity.
  static Result<TlsClientContext> create(const TlsClientOptions& options);

  // A transport for a socket that connects to `server`, whose certificate must be for that name or
  // IP address if verify is on. A name is sent (SNI); an address never is (RFC 6066 §3). The
  // handshake runs inside the first reads and writes. `ready` belongs to the same connection and
  // outlives the transport, which outlives this.
  std::unique_ptr<Transport> connect(int fd, Readiness& ready, const std::string& server) const;

 private:
  struct State;
  class ClientTransport;
  explicit TlsClientContext(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace flamegate::proxy
