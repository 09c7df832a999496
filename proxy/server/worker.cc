#include "proxy/server/worker.h"

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/base/log.h"
#include "proxy/session/peer.h"

namespace flamegate::proxy {
namespace {

ServerSessionLimits limitsOf(const config::Limits& limits) {
  return {
      .head = {.head_bytes_max = limits.header_bytes_max, .fields_max = limits.headers_max},
      .header_read = limits.header_read,
      .idle = limits.idle,
      .h2_streams = limits.h2_streams,
  };
}

// Whether a peer's PROXY headers are believed. Who can open a unix-domain socket was let in by its
// file's mode.
bool mayRelay(const config::Listener& listener, const Address& address) {
  char text[kPeerTextBytes];
  const Peer peer = peerOf(address, text, 0);
  if (peer.is_unix) return true;
  return std::any_of(listener.trusted_proxies.begin(), listener.trusted_proxies.end(),
                     [&peer](const config::Cidr& network) { return network.contains(peer.ip); });
}

// A session may leave the list meanwhile.
template <typename Session>
void drainAll(OwningList<Session>& sessions) {
  for (Session* session = sessions.front(); session != nullptr;) {
    Session* next = sessions.next(*session);
    session->drain();
    session = next;
  }
}

}  // namespace

Worker::Worker(WorkerShared& shared) : shared_(shared), index_(shared.workers++) {}

Result<std::unique_ptr<Worker>> Worker::create(WorkerShared& shared) {
  std::unique_ptr<Worker> worker(new Worker(shared));
  auto loop = EventLoop::create();
  if (!loop) return fail(std::move(loop.error()));
  worker->loop_ = std::move(*loop);
  worker->http2_context_ = std::make_unique<Http2ServerContext>(
      Http2ServerContext{.loop = *worker->loop_,
                         .handlers = *worker,
                         .shared = worker->http2_,
                         .streams = worker->http2_streams_,
                         .limits = {},
                         .on_closed =
                             [](void* self, Http2ServerSession& session) {
                               auto* of = static_cast<Worker*>(self);
                               of->onSessionClosed(of->http2_sessions_.take(session));
                             },
                         .owner = worker.get()});
  worker->greeting_context_ = std::make_unique<ProxyGreetingContext>(ProxyGreetingContext{
      .loop = *worker->loop_,
      .on_done = [](void* self,
                    ProxyGreeting& greeting) { static_cast<Worker*>(self)->onGreeted(greeting); },
      .owner = worker.get()});
  if (shared.access_log != nullptr) {
    worker->access_log_ =
        std::make_unique<AccessLogBuffer>(*worker->loop_, *shared.access_log, worker->counters_);
  }
  const Http1Limits response_limits{.fields_max = kFieldsMax};
  worker->http2_client_context_ = std::make_unique<Http2ClientContext>(Http2ClientContext{
      *worker->loop_, worker->http2_, worker->http2_client_streams_, response_limits});
  worker->client_sessions_ = std::make_unique<ClientSessionContext>(ClientSessionContext{
      *worker->loop_, worker->responses_, response_limits, worker->http2_client_context_.get()});
  return worker;
}

Worker::~Worker() { stop(); }

void Worker::start() {
  thread_ = std::thread([this] { loop_->run(); });
}

void Worker::stop() {
  if (!thread_.joinable()) return;
  loop_->post([this] {
    listeners_.clear();
    while (ProxyGreeting* greeting = greetings_.front()) greetings_.take(*greeting);
    while (Http1ServerSession* session = sessions_.front()) sessions_.take(*session);
    while (Http2ServerSession* session = http2_sessions_.front()) http2_sessions_.take(*session);
    if (access_log_ != nullptr) access_log_->flush();
  });
  loop_->stop();
  thread_.join();
}

void Worker::apply(std::shared_ptr<const Snapshot> snapshot, std::vector<ListeningFd> listening) {
  // std::function wants a copyable capture.
  auto fds = std::make_shared<std::vector<ListeningFd>>(std::move(listening));
  loop_->post([this, snapshot = std::move(snapshot), fds] { applyNow(snapshot, std::move(*fds)); });
}

void Worker::applyNow(std::shared_ptr<const Snapshot> snapshot,
                      std::vector<ListeningFd> listening) {
  auto context =
      std::make_unique<WorkerContext>(*client_sessions_, snapshot, counters_, date_, index_,
                                      contexts_.empty() ? nullptr : contexts_.back().get());
  shared_.make_filters(*snapshot, context->filters);
  for (const auto& filter : context->filters) {
    if (filter->seesEveryResponse()) context->response_filters.push_back(filter.get());
  }
  context->access_log = access_log_.get();
  if (shared_.traffic != nullptr) {
    context->traffic = std::make_unique<TrafficStats>(snapshot->traffic_labels, *shared_.traffic);
  }
  contexts_.push_back(std::move(context));
  dropUnusedContexts();

  listeners_.clear();
  const ServerSessionLimits limits = limitsOf(snapshot->config.limits);
  http2_context_->limits = limits;
  for (ListeningFd& socket : listening) listen(socket.listener, std::move(socket.fd), limits);
}

void Worker::listen(size_t listener, UniqueFd fd, const ServerSessionLimits& limits) {
  if (session_contexts_.size() <= listener) {
    session_contexts_.push_back(std::make_unique<ServerSessionContext>(
        ServerSessionContext{*loop_, *this, messages_, limits}));
  }
  ServerSessionContext& sessions = *session_contexts_[listener];
  sessions.limits = limits;
  sessions.owner = this;
  sessions.on_closed = [](void* self, Http1ServerSession& session) {
    auto* worker = static_cast<Worker*>(self);
    worker->onSessionClosed(worker->sessions_.take(session));
  };
  sessions.on_http2 = [](void* self, Http1ServerSession& session, Http2Handover handover) {
    static_cast<Worker*>(self)->onHttp2(session, std::move(handover));
  };
  auto made = Listener::create(*loop_, std::move(fd),
                               [this, listener](UniqueFd accepted, const Address& peer) {
                                 accept(listener, std::move(accepted), peer);
                               });
  if (!made) {
    logError("worker", made.error().detail);
    return;
  }
  listeners_.push_back(std::move(*made));
}

void Worker::accept(size_t listener, UniqueFd fd, const Address& peer) {
  counters_.connections_accepted.add();
  if (shared_.connections.fetch_add(1, std::memory_order_relaxed) >= shared_.connections_max) {
    shared_.connections.fetch_sub(1, std::memory_order_relaxed);
    onRefused({.text = "-"}, 503, "connection-limit");
    // Best effort: a socket this young takes so little without blocking.
    constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n";
    ::send(fd.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  counters_.connections_open.add();
  if (contexts_.back()->snapshot->config.listeners[listener].proxy_protocol) {
    awaitProxyHeader(listener, std::move(fd), peer);
  } else {
    openSession(listener, std::move(fd), peer);
  }
}

void Worker::awaitProxyHeader(size_t listener, UniqueFd fd, const Address& peer) {
  if (!mayRelay(contexts_.back()->snapshot->config.listeners[listener], peer)) {
    refuseConnection(idOf(listener), peer, "proxy-untrusted");
    return;
  }
  auto greeting =
      std::make_unique<ProxyGreeting>(*greeting_context_, std::move(fd), peer, idOf(listener));
  greetings_.pushFront(std::move(greeting)).start();
}

void Worker::onGreeted(ProxyGreeting& greeting) {
  loop_->deleteLater(greetings_.take(greeting));
  const auto listener = contexts_.back()->snapshot->findListener(greeting.listener());
  if (greeting.refusal().empty() && listener) {
    openSession(*listener, greeting.takeFd(), greeting.client());
  } else {
    refuseConnection(greeting.listener(), greeting.peer(),
                     listener ? greeting.refusal() : "listener-closed");
  }
}

// Ends a connection on which no protocol has begun, so that there is no answer to give.
void Worker::refuseConnection(size_t listener_id, const Address& peer, std::string_view reason) {
  char text[kPeerTextBytes];
  onRefused(peerOf(peer, text, listener_id), 0, reason);
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
  counters_.connections_open.subtract();
  if (draining_) reportIfEmpty();
}

void Worker::openSession(size_t listener, UniqueFd fd, const Address& peer) {
  auto session = std::make_unique<Http1ServerSession>(*session_contexts_[listener], std::move(fd),
                                                      peer, idOf(listener));
  const auto& tls = contexts_.back()->snapshot->tls[listener];
  if (tls != nullptr) {
    Connection& connection = session->connection();
    session->setSecure(tls->accept(connection.fd(), connection.readiness()));
  }
  sessions_.pushFront(std::move(session)).start();
}

void Worker::onHttp2(Http1ServerSession& session, Http2Handover handover) {
  auto http2 = std::make_unique<Http2ServerSession>(*http2_context_, std::move(handover));
  loop_->deleteLater(sessions_.take(session));
  http2_sessions_.pushFront(std::move(http2)).start();
}

void Worker::onSessionClosed(std::unique_ptr<Deletable> session) {
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
  counters_.connections_open.subtract();
  loop_->deleteLater(std::move(session));
  if (draining_) reportIfEmpty();
}

StreamHandler& Worker::beginHandler(ServerStream& stream) {
  if (idle_exchanges_.empty()) idle_exchanges_.push_back(std::make_unique<Exchange>(*loop_));
  Exchange* exchange = idle_exchanges_.back().release();
  idle_exchanges_.pop_back();
  exchange->begin(stream, *contexts_.back());
  return *exchange;
}

void Worker::endHandler(StreamHandler& handler) {
  std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(&handler));
  exchange->reset();
  idle_exchanges_.push_back(std::move(exchange));
  if (contexts_.size() > 1) dropUnusedContexts();
}

void Worker::onRefused(const Peer& peer, uint16_t status, std::string_view reason) {
  counters_.requests_refused.add();
  counters_.responses[status / 100 % 6].add();
  if (access_log_ != nullptr) access_log_->logRefused(peer, status, reason);
}

// A context's pools may be in the middle of an event; it goes after the batch.
void Worker::dropUnusedContexts() {
  struct Retired final : Deletable {
    std::unique_ptr<WorkerContext> context;
  };
  for (size_t i = 0; i + 1 < contexts_.size();) {
    if (contexts_[i]->exchanges > 0) {
      ++i;
      continue;
    }
    auto retired = std::make_unique<Retired>();
    retired->context = std::move(contexts_[i]);
    contexts_.erase(contexts_.begin() + static_cast<ptrdiff_t>(i));
    loop_->deleteLater(std::move(retired));
  }
}

void Worker::drain(std::function<void()> on_empty) {
  loop_->post([this, on_empty = std::move(on_empty)] {
    draining_ = true;
    on_empty_ = on_empty;
    listeners_.clear();
    drainAll(sessions_);
    drainAll(http2_sessions_);
    reportIfEmpty();
  });
}

void Worker::reportIfEmpty() {
  if (!greetings_.empty() || !sessions_.empty() || !http2_sessions_.empty() || !on_empty_) return;
  std::exchange(on_empty_, nullptr)();
}

}  // namespace flamegate::proxy
