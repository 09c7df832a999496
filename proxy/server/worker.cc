#include "proxy/server/worker.h"

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/base/log.h"

namespace flamegate::proxy {

Worker::Worker(WorkerShared& shared) : shared_(shared) {}

Result<std::unique_ptr<Worker>> Worker::create(WorkerShared& shared) {
  std::unique_ptr<Worker> worker(new Worker(shared));
  auto loop = EventLoop::create();
  if (!loop) return fail(std::move(loop.error()));
  worker->loop_ = std::move(*loop);
  if (shared.access_log != nullptr) {
    worker->access_log_ = std::make_unique<AccessLogBuffer>(*worker->loop_, *shared.access_log,
                                                            worker->counters_);
  }
  worker->client_sessions_ = std::make_unique<ClientSessionContext>(
      ClientSessionContext{*worker->loop_, worker->responses_, {.fields_max = kFieldsMax}});
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
    while (Http1ServerSession* session = sessions_.front()) sessions_.take(*session);
    if (access_log_ != nullptr) access_log_->flush();
  });
  loop_->stop();
  thread_.join();
}

void Worker::apply(std::shared_ptr<const Snapshot> snapshot, std::vector<UniqueFd> listeners) {
  // std::function wants a copyable capture.
  auto fds = std::make_shared<std::vector<UniqueFd>>(std::move(listeners));
  loop_->post([this, snapshot = std::move(snapshot), fds] { applyNow(snapshot, std::move(*fds)); });
}

void Worker::applyNow(std::shared_ptr<const Snapshot> snapshot, std::vector<UniqueFd> listeners) {
  auto context = std::make_unique<WorkerContext>(*client_sessions_, snapshot, counters_, date_);
  shared_.make_filters(*snapshot, context->filters);
  context->access_log = access_log_.get();
  contexts_.push_back(std::move(context));
  dropUnusedContexts();

  listeners_.clear();
  const config::Config& config = snapshot->config;
  const ServerSessionLimits limits{
      .head = {.head_bytes_max = config.limits.header_bytes_max,
               .fields_max = config.limits.headers_max},
      .header_read = config.limits.header_read,
      .idle = config.limits.idle,
  };
  for (size_t i = 0; i < listeners.size(); ++i) {
    if (session_contexts_.size() <= i) {
      session_contexts_.push_back(std::make_unique<ServerSessionContext>(
          ServerSessionContext{*loop_, *this, messages_, limits}));
    }
    ServerSessionContext& sessions = *session_contexts_[i];
    sessions.limits = limits;
    sessions.owner = this;
    sessions.on_closed = [](void* self, Http1ServerSession& session) {
      static_cast<Worker*>(self)->onSessionClosed(session);
    };
    auto listener = Listener::create(
        *loop_, std::move(listeners[i]),
        [this, i](UniqueFd fd, const Address& peer) { accept(i, std::move(fd), peer); });
    if (!listener) {
      logError("worker", listener.error().detail);
      continue;
    }
    listeners_.push_back(std::move(*listener));
  }
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
  auto session = std::make_unique<Http1ServerSession>(*session_contexts_[listener], std::move(fd),
                                                      peer, listener);
  const auto& tls = contexts_.back()->snapshot->tls[listener];
  if (tls != nullptr) {
    Connection& connection = session->connection();
    session->setSecure(tls->accept(connection.fd(), connection.readiness()));
  }
  sessions_.pushFront(std::move(session)).start();
}

void Worker::onSessionClosed(Http1ServerSession& session) {
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
  counters_.connections_open.subtract();
  loop_->deleteLater(sessions_.take(session));
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
    for (Http1ServerSession* session = sessions_.front(); session != nullptr;) {
      Http1ServerSession* next = sessions_.next(*session);
      session->drain();
      session = next;
    }
    reportIfEmpty();
  });
}

void Worker::reportIfEmpty() {
  if (!sessions_.empty() || !on_empty_) return;
  std::exchange(on_empty_, nullptr)();
}

}  // namespace flamegate::proxy
