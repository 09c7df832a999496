#include "proxy/session/client_connector.h"

#include <utility>

#include "proxy/session/http1_client_session.h"
#include "proxy/session/http2_client_session.h"
#include "proxy/session/negotiating_session.h"

namespace flamegate::proxy {
namespace {

template <typename Session>
Result<std::unique_ptr<ClientSession>> startOf(std::unique_ptr<Session> session) {
  if (auto started = session->start(); !started) return fail(std::move(started.error()));
  return session;
}

}  // namespace

Result<std::unique_ptr<ClientSession>> ClientConnector::connect(ClientSessionContext& context,
                                                                const Address& address,
                                                                const std::string& endpoint_name,
                                                                void* endpoint,
                                                                ClientSessionOwner& owner) const {
  auto fd = connectTo(address);
  if (!fd) return fail(std::move(fd.error()));
  auto connection = std::make_unique<Connection>(context.loop, std::move(*fd), Readiness{});
  if (tls != nullptr) {
    connection->setTransport(tls->connect(connection->fd(), connection->readiness(),
                                          server.empty() ? endpoint_name : server));
  }
  if (protocol == ClientProtocol::Http2 && context.http2 != nullptr) {
    return startOf(std::make_unique<Http2ClientSession>(
        *context.http2, std::move(connection), Buffer(context.loop.buffers()), endpoint, owner));
  }
  if (protocol == ClientProtocol::Negotiated && tls != nullptr && context.http2 != nullptr) {
    return startOf(
        std::make_unique<NegotiatingSession>(context, std::move(connection), endpoint, owner));
  }
  return startOf(
      std::make_unique<Http1ClientSession>(context, std::move(connection), endpoint, owner));
}

}  // namespace flamegate::proxy
