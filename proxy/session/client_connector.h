// Begins connections to the endpoints of a cluster: TLS and the choice of the protocol.
#pragma once

#include <memory>
#include <string>

#include "proxy/net/tls_files.h"
#include "proxy/session/client_session.h"

namespace flamegate::proxy {

enum class ClientProtocol : uint8_t {
  Http1,
  Http2,       // by prior knowledge, or the ALPN that `tls` offers
  Negotiated,  // as TLS agrees on (ALPN); HTTP/1 in clear text
};

// Immutable. Owner: a cluster. Thread: any.
struct ClientConnector {
  // Begins to connect; what fails later shows at the session or its stream. `endpoint_name` is the
  // name that the endpoint was configured by. Errors: Reset, Retry::Yes (refused at once); Full (no
  // descriptor left).
  Result<std::unique_ptr<ClientSession>> connect(ClientSessionContext& context,
                                                 const Address& address,
                                                 const std::string& endpoint_name,
                                                 void* endpoint, ClientSessionOwner& owner) const;

  ClientProtocol protocol = ClientProtocol::Http1;
  std::shared_ptr<TlsConnector> tls;  // null: clear text
  // What the application's certificate must be for; empty: the endpoint's name.
  std::string server;
};

}  // namespace flamegate::proxy
