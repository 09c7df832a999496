#include "proxy/upstream/pool.h"

#include <algorithm>

namespace flamegate::proxy {

UpstreamPool::UpstreamPool(ClientSessionContext& context, UpstreamOptions options)
    : context_(context),
      options_(std::move(options)),
      endpoints_(options_.endpoints.size()),
      sweep_timer_(context.loop.timers(),
                   [](void* self) { static_cast<UpstreamPool*>(self)->sweep(); }, this) {
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    endpoints_[i].address = options_.endpoints[i];
    endpoints_[i].name = options_.endpoints[i].toString();
  }
}

UpstreamPool::~UpstreamPool() { DCHECK(busy_.empty()); }

Result<UpstreamLease> UpstreamPool::acquire(ClientStreamEvents& events, UpstreamNeed need) {
  if (endpoints_.empty()) {
    return fail(ErrorCode::Unavailable, ErrorSource::Upstream, "the cluster has no endpoint");
  }
  const size_t chosen = chooseEndpoint(need.other_than);
  Endpoint& endpoint = endpoints_[chosen];
  Http1ClientSession* session = need.fresh ? nullptr : takeIdle(endpoint, need.unrepeatable);
  if (session == nullptr) {
    if (connections_ >= options_.connections_max && !evictIdle()) {
      return fail(ErrorCode::Full, ErrorSource::Internal, "the cluster's connection limit");
    }
    auto made = Http1ClientSession::connect(context_, endpoint.address, chosen, *this);
    if (!made) return fail(std::move(made.error()));
    ++connections_;
    session = &busy_.pushFront(std::move(*made));
  }
  session->begin(events);
  ++endpoint.active;
  return UpstreamLease{session, chosen};
}

// The next endpoint in turn, or the one with the fewest requests of this worker.
size_t UpstreamPool::chooseEndpoint(size_t other_than) {
  const size_t count = endpoints_.size();
  if (count == 1) return 0;
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (next_ + i) % count;
    if (at == other_than) continue;
    if (best == SIZE_MAX || endpoints_[at].active < endpoints_[best].active) best = at;
    if (options_.balance == UpstreamOptions::Balance::RoundRobin) break;
  }
  next_ = (best + 1) % count;
  return best;
}

Http1ClientSession* UpstreamPool::takeIdle(Endpoint& endpoint, bool probe) {
  while (Http1ClientSession* session = endpoint.idle.front()) {
    auto owned = endpoint.idle.take(*session);
    if (!probe || session->probeIdle()) return &busy_.pushFront(std::move(owned));
    drop(std::move(owned));
  }
  return nullptr;
}

bool UpstreamPool::evictIdle() {
  for (Endpoint& endpoint : endpoints_) {
    if (Http1ClientSession* oldest = endpoint.idle.back()) {
      drop(endpoint.idle.take(*oldest));
      return true;
    }
  }
  return false;
}

bool UpstreamPool::wait(UpstreamWaiter& waiter) {
  if (waiting_ >= options_.pending_max) return false;
  ++waiting_;
  waiters_.pushBack(waiter);
  return true;
}

void UpstreamPool::cancelWait(UpstreamWaiter& waiter) {
  if (!static_cast<ListNode<>&>(waiter).linked()) return;
  static_cast<ListNode<>&>(waiter).unlink();
  --waiting_;
}

void UpstreamPool::release(const UpstreamLease& lease) {
  Endpoint& endpoint = endpoints_[lease.endpoint];
  --endpoint.active;
  auto& session = static_cast<Http1ClientSession&>(*lease.stream);
  const bool usable = session.end();
  auto owned = busy_.take(session);
  if (usable) {
    endpoint.idle.pushFront(std::move(owned));
    if (!sweep_timer_.armed()) sweep_timer_.arm(context_.loop.now() + options_.idle);
  } else {
    drop(std::move(owned));
  }
  if (!waiters_.empty()) wakeWaiter();
}

// Destruction waits for the end of the batch: the session may be the one whose event this is.
void UpstreamPool::drop(std::unique_ptr<Http1ClientSession> session) {
  --connections_;
  session->retire();
  context_.loop.deleteLater(std::move(session));
}

void UpstreamPool::wakeWaiter() {
  UpstreamWaiter* waiter = waiters_.front();
  cancelWait(*waiter);
  context_.loop.resumeLater(*waiter);
}

void UpstreamPool::onIdleSessionLost(Http1ClientSession& session) {
  drop(endpoints_[session.endpoint()].idle.take(session));
}

// Closes what has been idle for too long; the least recently used are at the back.
void UpstreamPool::sweep() {
  TimePoint oldest;
  for (Endpoint& endpoint : endpoints_) {
    while (Http1ClientSession* session = endpoint.idle.back()) {
      if (session->idleSince() + options_.idle > context_.loop.now()) {
        if (!oldest.set() || session->idleSince() < oldest) oldest = session->idleSince();
        break;
      }
      drop(endpoint.idle.take(*session));
    }
  }
  if (oldest.set()) sweep_timer_.arm(oldest + options_.idle);
}

}  // namespace flamegate::proxy
