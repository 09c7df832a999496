#include "control/api/http_server.h"

#include <utility>
#include <vector>

namespace flamegate::control {

using proxy::Result;

HttpServer::HttpServer(proxy::EventLoop& loop, HttpApp& app, HttpServerOptions options)
    : loop_(loop),
      app_(app),
      options_(options),
      context_{.loop = loop,
               .handlers = *this,
               .messages = messages_,
               .limits = {},
               .on_closed =
                   [](void* self, proxy::Http1ServerSession& session) {
                     static_cast<HttpServer*>(self)->onClosed(session);
                   },
               .owner = this} {}

Result<std::unique_ptr<HttpServer>> HttpServer::create(proxy::EventLoop& loop,
                                                       proxy::UniqueFd listening, HttpApp& app,
                                                       HttpServerOptions options) {
  std::unique_ptr<HttpServer> server(new HttpServer(loop, app, options));
  auto listener = proxy::Listener::create(
      loop, std::move(listening),
      [self = server.get()](proxy::UniqueFd fd, const proxy::Address& peer) {
        self->onAccept(std::move(fd), peer);
      });
  if (!listener) return proxy::fail(std::move(listener.error()));
  server->listener_ = std::move(*listener);
  return server;
}

HttpServer::~HttpServer() {
  *self_ = nullptr;
  sessions_.clear();
}

void HttpServer::drain() {
  draining_ = true;
  listener_->pause();
  // A session may close, and so leave the map, while it is told.
  std::vector<proxy::Http1ServerSession*> open;
  for (const auto& [session, owned] : sessions_) open.push_back(session);
  for (proxy::Http1ServerSession* session : open) session->drain();
}

void HttpServer::onAccept(proxy::UniqueFd fd, const proxy::Address& peer) {
  if (draining_ || sessions_.size() >= options_.connections_max) return;
  auto session = std::make_unique<proxy::Http1ServerSession>(context_, std::move(fd), peer, 0);
  if (options_.tls != nullptr) {
    proxy::Connection& connection = session->connection();
    session->setSecure(options_.tls->accept(connection.fd(), connection.readiness()));
  }
  proxy::Http1ServerSession* const raw = session.get();
  sessions_.emplace(raw, std::move(session));
  raw->start();
}

void HttpServer::onClosed(proxy::Http1ServerSession& session) {
  auto node = sessions_.extract(&session);
  if (!node.empty()) loop_.deleteLater(std::move(node.mapped()));
}

proxy::StreamHandler& HttpServer::beginHandler(proxy::ServerStream& stream) {
  const std::uint64_t id = ++last_exchange_;
  Responder respond = [self = self_, id](ApiResponse response) {
    if (*self != nullptr) (*self)->respond(id, std::move(response));
  };
  auto exchange = std::make_unique<HttpExchange>(stream, loop_, app_, std::move(respond));
  HttpExchange& handler = *exchange;
  exchanges_.emplace(id, std::move(exchange));
  exchange_ids_.emplace(&handler, id);
  return handler;
}

void HttpServer::endHandler(proxy::StreamHandler& handler) {
  const auto id = exchange_ids_.find(&handler);
  exchanges_.erase(id->second);
  exchange_ids_.erase(id);
}

void HttpServer::respond(std::uint64_t exchange, ApiResponse response) {
  const auto at = exchanges_.find(exchange);
  if (at != exchanges_.end()) at->second->respond(std::move(response));
}

}  // namespace flamegate::control
