// TLS by OpenSSL 3: the server's side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/net/tls_identity.h"
#include "proxy/net/tls_tickets.h"
#include "proxy/net/transport.h"

namespace flamegate::proxy {

struct TlsServerOptions {
  // At least one; the first is for clients that ask for no name, or for one that nobody has.
  std::vector<std::shared_ptr<const TlsIdentity>> identities = {};
  std::shared_ptr<const TlsAuthorities> client_authorities =
      {};                       // null: no client certificate is asked
  bool client_required = true;  // with client_authorities: refuse who has none; bad ones always are
  bool allow_tls12 = true;
  std::vector<std::string> alpn = {};           // in order of preference; empty: ALPN is ignored
  std::shared_ptr<TlsTicketKeys> tickets = {};  // null: no resumption
};

// How a listener speaks TLS. The certificate is chosen by the name that the client asks for (SNI,
// RFC 6066 §3): one that has it exactly, else one whose wildcard covers it, else the first. Of
// those with the name there may be one for each type of key, between which the client's abilities
// decide. Immutable, a value; copies share what they hold. Thread: any.
class TlsServerContext {
 public:
  // Errors: Io, source Config, when OpenSSL refuses an identity.
  static Result<TlsServerContext> create(const TlsServerOptions& options);

  // A transport for an accepted socket; the handshake runs inside its first reads and writes.
  // `ready` belongs to the same connection and outlives the transport, which outlives this.
  std::unique_ptr<Transport> accept(int fd, Readiness& ready) const;

 private:
  struct State;
  class ServerTransport;
  explicit TlsServerContext(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace flamegate::proxy
