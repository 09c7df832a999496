// One thread of the proxy: a loop, its share of the connections, and everything that serves them.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "proxy/exchange/exchange.h"
#include "proxy/net/listener.h"
#include "proxy/server/access_log.h"
#include "proxy/session/http1_client_session.h"
#include "proxy/session/http1_server_session.h"
#include "proxy/session/http2_client_session.h"
#include "proxy/session/http2_server_session.h"
#include "proxy/session/proxy_greeting.h"

namespace flamegate::proxy {

// A socket that a worker accepts from. `listener`: its place in the configuration.
struct ListeningFd {
  size_t listener = 0;
  UniqueFd fd;
};

// What all workers are made from. Outlives them.
struct WorkerShared {
  AccessLogFile* access_log = nullptr;  // null: none
  // Adds the filters of one worker under one snapshot, in the order of requests.
  std::function<void(const Snapshot& snapshot, std::vector<std::unique_ptr<Filter>>& filters)>
      make_filters;
  TrafficRegistry* traffic = nullptr;  // null: nobody reads it
  // Client connections over all workers, and their limit.
  std::atomic<size_t> connections{0};
  size_t connections_max = 0;
  // Workers made so far: the next one's index.
  size_t workers = 0;
};

// Owner: the process. Its members belong to its thread once that runs; start(), stop() and the
// functions that post may be called from the process's thread.
class Worker final : private HandlerFactory {
 public:
  static Result<std::unique_ptr<Worker>> create(WorkerShared& shared);
  ~Worker();

  const WorkerCounters& counters() const { return counters_; }

  void start();
  // Puts a snapshot in force for new exchanges. `listening` replaces what it listens on now.
  void apply(std::shared_ptr<const Snapshot> snapshot, std::vector<ListeningFd> listening);
  // Stops accepting; connections end after their present response. `on_empty` is called on the
  // worker's thread when the last is gone.
  void drain(std::function<void()> on_empty);
  // Ends the thread, cutting what is left.
  void stop();

 private:
  explicit Worker(WorkerShared& shared);

  StreamHandler& beginHandler(ServerStream& stream) override;
  void endHandler(StreamHandler& handler) override;
  void onRefused(const Peer& peer, uint16_t status, std::string_view reason) override;
  bool draining() const override { return draining_; }

  void applyNow(std::shared_ptr<const Snapshot> snapshot, std::vector<ListeningFd> listening);
  void accept(size_t listener, UniqueFd fd, const Address& peer);
  void awaitProxyHeader(size_t listener, UniqueFd fd, const Address& peer);
  void onGreeted(ProxyGreeting& greeting);
  void openSession(size_t listener, UniqueFd fd, const Address& peer);
  // What a connection knows its listener by. `listener`: its place in the configuration in force.
  size_t idOf(size_t listener) const { return contexts_.back()->snapshot->listener_ids[listener]; }
  void refuseConnection(size_t listener_id, const Address& peer, std::string_view reason);
  void listen(size_t listener, UniqueFd fd, const ServerSessionLimits& limits);
  void onHttp2(Http1ServerSession& session, Http2Handover handover);
  void onSessionClosed(std::unique_ptr<Deletable> session);
  void dropUnusedContexts();
  void reportIfEmpty();

  WorkerShared& shared_;
  const size_t index_;
  WorkerCounters counters_;
  std::unique_ptr<EventLoop> loop_;
  std::thread thread_;

  DateCache date_;
  std::unique_ptr<AccessLogBuffer> access_log_;
  ObjectPool<Http1Message> messages_;
  ObjectPool<Http1Response> responses_;
  Http2Shared http2_;
  ObjectPool<Http2ClientStream> http2_client_streams_;
  std::unique_ptr<Http2ClientContext> http2_client_context_;
  std::unique_ptr<ClientSessionContext> client_sessions_;
  std::vector<std::unique_ptr<WorkerContext>> contexts_;  // the last is in force
  std::vector<std::unique_ptr<Exchange>> idle_exchanges_;
  std::vector<std::unique_ptr<ServerSessionContext>> session_contexts_;  // one a listener
  ObjectPool<Http2ServerStream> http2_streams_;
  std::unique_ptr<Http2ServerContext> http2_context_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<ProxyGreetingContext> greeting_context_;
  OwningList<ProxyGreeting> greetings_;
  OwningList<Http1ServerSession> sessions_;
  OwningList<Http2ServerSession> http2_sessions_;
  bool draining_ = false;
  std::function<void()> on_empty_;
};

}  // namespace flamegate::proxy
