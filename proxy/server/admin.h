// The admin listener: /metrics /ready /live /config /clusters /profiling.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "proxy/base/owning_list.h"
#include "proxy/net/listener.h"
#include "proxy/session/http1_server_session.h"

namespace flamegate::proxy {

struct AdminPage {
  uint16_t status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

// Serves GET and HEAD of a few pages that are made anew for each request.
// Owner: the process. Thread: its main loop's.
class AdminServer final : private HandlerFactory {
 public:
  // By path, or by path and query where that makes another page.
  using Pages = std::map<std::string, std::function<AdminPage()>, std::less<>>;

  static Result<std::unique_ptr<AdminServer>> create(EventLoop& loop, UniqueFd listening,
                                                     Pages pages);
  ~AdminServer();

  Address address() const { return listener_->address(); }

 private:
  class Handler;

  AdminServer(EventLoop& loop, Pages pages);
  StreamHandler& beginHandler(ServerStream& stream) override;
  void endHandler(StreamHandler& handler) override;
  void onRefused(const Peer&, uint16_t, std::string_view) override {}
  bool draining() const override { return false; }

  EventLoop& loop_;
  const Pages pages_;
  ObjectPool<Http1Message> messages_;
  ServerSessionContext sessions_context_;
  OwningList<Http1ServerSession> sessions_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace flamegate::proxy
