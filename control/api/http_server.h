// Serves an app on one listening socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "control/api/http_app.h"
#include "control/api/http_exchange.h"
#include "proxy/net/listener.h"
#include "proxy/net/tls_files.h"
#include "proxy/session/http1_server_session.h"

namespace flamegate::control {

struct HttpServerOptions {
  size_t connections_max = 1'024;           // more are closed at once
  const proxy::TlsListener* tls = nullptr;  // null: clear text; outlives the server
};

// Owner: control's main. Thread: the loop's. Ends: closes everything; answers that come later are
// dropped.
class HttpServer final : private proxy::HandlerFactory {
 public:
  // Takes the listening descriptor over. The app outlives the server.
  static proxy::Result<std::unique_ptr<HttpServer>> create(proxy::EventLoop& loop,
                                                           proxy::UniqueFd listening, HttpApp& app,
                                                           HttpServerOptions options = {});
  ~HttpServer();

  proxy::Address address() const { return listener_->address(); }
  size_t connections() const { return sessions_.size(); }

  // Stops accepting, ends idle connections now and others after their response.
  void drain();

 private:
  HttpServer(proxy::EventLoop& loop, HttpApp& app, HttpServerOptions options);

  // HandlerFactory
  proxy::StreamHandler& beginHandler(proxy::ServerStream& stream) override;
  void endHandler(proxy::StreamHandler& handler) override;
  void onRefused(const proxy::Peer&, uint16_t, std::string_view) override {}
  bool draining() const override { return draining_; }

  void onAccept(proxy::UniqueFd fd, const proxy::Address& peer);
  void onClosed(proxy::Http1ServerSession& session);
  void respond(std::uint64_t exchange, ApiResponse response);

  proxy::EventLoop& loop_;
  HttpApp& app_;
  const HttpServerOptions options_;
  proxy::ObjectPool<proxy::Http1Message> messages_{16};
  proxy::ServerSessionContext context_;
  // Guards against answers that come after the end.
  std::shared_ptr<HttpServer*> self_ = std::make_shared<HttpServer*>(this);
  std::uint64_t last_exchange_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<HttpExchange>> exchanges_;
  std::unordered_map<proxy::StreamHandler*, std::uint64_t> exchange_ids_;
  std::unordered_map<proxy::Http1ServerSession*, std::unique_ptr<proxy::Http1ServerSession>>
      sessions_;
  std::unique_ptr<proxy::Listener> listener_;
  bool draining_ = false;
};

}  // namespace flamegate::control
