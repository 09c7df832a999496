#include "proxy/session/client_connector.h"

#include "proxy/session/http1_client_session.h"

namespace flamegate::proxy {

Result<std::unique_ptr<ClientSession>> ClientConnector::connect(ClientSessionContext& context,
                                                                const Address& address,
                                                                const std::string& endpoint_name,
                                                                void* endpoint,
                                                                ClientSessionOwner& owner) const {
  auto fd = connectTo(address);
  if (!fd) return fail(std::move(fd.error()));
  auto session = std::make_unique<Http1ClientSession>(context, std::move(*fd), endpoint, owner);
  Connection& connection = session->connection();
  if (tls != nullptr) {
    connection.setTransport(tls->connect(connection.fd(), connection.readiness(),
                                         server.empty() ? endpoint_name : server));
  }
  if (auto started = session->start(); !started) return fail(std::move(started.error()));
  return session;
}

}  // namespace flamegate::proxy
