#include "proxy/upstream/pool.h"

#include <algorithm>
#include <utility>

namespace flamegate::proxy {

UpstreamPool::UpstreamPool(ClientSessionContext& context, std::shared_ptr<Cluster> cluster,
                           size_t worker)
    : context_(context),
      cluster_(std::move(cluster)),
      worker_(worker),
      counters_(cluster_->counters(worker)),
      requests_(cluster_->requests()),
      balancer_(cluster_->options(), worker),
      set_(std::make_shared<EndpointSet>()),
      member_(cluster_->join(context.loop, *this)),
      sweep_timer_(
          context.loop.timers(), [](void* self) { static_cast<UpstreamPool*>(self)->sweep(); },
          this),
      pending_timer_(
          context.loop.timers(), [](void* self) { static_cast<UpstreamPool*>(self)->endOverdue(); },
          this) {
  onEndpointsChanged();
}

UpstreamPool::~UpstreamPool() {
  cluster_->leave(member_);
  // No event can be under way: sessions go at once, as what they share with others may go next.
  for (; connections_ > 0; --connections_) cluster_->giveConnection();
  for (auto* places : {&places_, &removed_}) {
    for (const auto& place : *places) {
      place->counters->connections.subtract(place->size());
    }
  }
}

// ---- Requests -----------------------------------------------------------------------------------

bool UpstreamPool::enter() {
  if (!requests_.take()) {
    counters_.overflows.add();
    return false;
  }
  counters_.requests.add();
  counters_.active.add();
  return true;
}

void UpstreamPool::leave() {
  counters_.active.subtract();
  requests_.give();
}

bool UpstreamPool::beginRetry() {
  if (!cluster_->takeRetry()) {
    counters_.retries_refused.add();
    return false;
  }
  counters_.retries.add();
  return true;
}

Result<UpstreamLease> UpstreamPool::acquire(ClientStreamEvents& events, const UpstreamNeed& need) {
  if (places_.empty()) {
    return fail(ErrorCode::NotFound, ErrorSource::Upstream, "the cluster has no endpoint");
  }
  const size_t chosen = balancer_.choose(
      *set_, {.key = need.key, .avoid = need.other_than, .now = context_.loop.now()});
  if (chosen == SIZE_MAX) {
    return fail(ErrorCode::Unavailable, ErrorSource::Upstream, "no endpoint is healthy");
  }
  Place& place = *places_[chosen];
  ClientSession* session = need.fresh ? nullptr : findSession(place, need.unrepeatable);
  if (session == nullptr) {
    auto opened = openSession(place);
    if (!opened) {
      failed_at_ = place.endpoint.get();
      return fail(std::move(opened.error()));
    }
    session = *opened;
  }
  ClientStream& stream = session->begin(events);
  shelve(place, takeOut(*session));
  place.counters->active.add();
  place.counters->requests.add();
  return UpstreamLease{&stream, session, place.endpoint.get()};
}

void UpstreamPool::release(const UpstreamLease& lease) {
  ClientSession& session = *lease.session;
  Place& place = placeOf(session);
  place.counters->active.subtract();
  session.end(*lease.stream);
  // What is dropped makes room, which the cluster tells those who want it of.
  if (keepOrDrop(place, takeOut(session)) && !waiters_.empty()) wakeWaiter({});
}

void UpstreamPool::onResult(const UpstreamLease& lease, bool failed) {
  if (failed) placeOf(*lease.session).counters->failures.add();
  cluster_->onResult(*lease.endpoint, failed, context_.loop.now());
}

// ---- Sessions -----------------------------------------------------------------------------------

ClientSession* UpstreamPool::findSession(Place& place, bool probe) {
  while (ClientSession* session = place.open.front()) {
    if (session->streamsFree() > 0) return session;
    shelve(place, takeOut(*session));
  }
  while (ClientSession* session = place.idle.front()) {
    if (session->streamsFree() > 0 && (!probe || session->probeIdle())) return session;
    drop(takeOut(*session));
  }
  return nullptr;
}

// A session that has just begun to connect and can lend a stream already.
Result<ClientSession*> UpstreamPool::openSession(Place& place) {
  // One that is on its way serves at least one of those who wait.
  if (place.pending.size() > waiting_) {
    return fail(ErrorCode::Full, ErrorSource::Upstream, "sessions are being opened");
  }
  room_refused_ = !roomForSession();
  if (room_refused_) {
    return fail(ErrorCode::Full, ErrorSource::Upstream, "the cluster's connection limit");
  }
  const Endpoint& endpoint = *place.endpoint;
  auto made =
      options().connector.connect(context_, endpoint.address(), endpoint.server(), &place, *this);
  if (!made) {
    cluster_->giveConnection();
    place.counters->failures.add();
    cluster_->onResult(*place.endpoint, true, context_.loop.now());
    return fail(std::move(made.error()));
  }
  ++connections_;
  place.counters->connections.add();
  ClientSession& session = **made;
  shelve(place, std::move(*made));
  if (session.streamsFree() > 0) return &session;
  session.opened = context_.loop.now();
  awaitSession(session);
  return fail(ErrorCode::Full, ErrorSource::Upstream, "a session is being opened");
}

// Reserves a connection, closing an idle one of ours if it has to be.
bool UpstreamPool::roomForSession() {
  return cluster_->takeConnection() || (evictIdle() && cluster_->takeConnection());
}

bool UpstreamPool::evictIdle() {
  for (const auto& place : places_) {
    if (ClientSession* oldest = place->idle.back()) {
      drop(takeOut(*oldest));
      return true;
    }
  }
  return false;
}

std::unique_ptr<ClientSession> UpstreamPool::takeOut(ClientSession& session) {
  return session.shelf->take(session);
}

// Puts a session where findSession() will look for it.
void UpstreamPool::shelve(Place& place, std::unique_ptr<ClientSession> session) {
  const bool was_pending = session->shelf == nullptr || session->shelf == &place.pending;
  Shelf* shelf = was_pending ? &place.pending : &place.busy;
  if (session->streamsFree() > 0) shelf = session->lent() > 0 ? &place.open : &place.idle;
  session->shelf = shelf;
  shelf->pushFront(std::move(session));
}

// Whether it was kept.
bool UpstreamPool::keepOrDrop(Place& place, std::unique_ptr<ClientSession> session) {
  const bool unused = session->lent() == 0;
  const bool wanted_elsewhere = cluster_->roomWanted() && waiters_.empty();
  if (unused && (session->spent() || place.removed || wanted_elsewhere)) {
    drop(std::move(session));
    return false;
  }
  shelve(place, std::move(session));
  if (unused && !sweep_timer_.armed()) sweep_timer_.arm(context_.loop.now() + options().idle);
  return true;
}

// Destruction waits for the end of the batch: the session may be the one whose event this is.
void UpstreamPool::drop(std::unique_ptr<ClientSession> session) {
  --connections_;
  placeOf(*session).counters->connections.subtract();
  cluster_->giveConnection();
  session->retire();
  context_.loop.deleteLater(std::move(session));
}

void UpstreamPool::onSessionLost(ClientSession& session, const Error* why) {
  Place& place = placeOf(session);
  const bool never_lent = session.shelf == &place.pending;
  drop(takeOut(session));
  // An application that goes away with its first words: who waited for this session must know.
  const Error gone{ErrorCode::Reset, ErrorSource::Upstream, Retry::Yes,
                   "ended before its first stream"};
  if (why == nullptr && never_lent) why = &gone;
  if (why == nullptr) return;
  place.counters->failures.add();
  cluster_->onResult(*place.endpoint, true, context_.loop.now());
  if (waiters_.empty()) return;
  waiters_.front()->failed_at = place.endpoint.get();
  wakeWaiter(*why);
}

void UpstreamPool::onStreamsFree(ClientSession& session) {
  keepOrDrop(placeOf(session), takeOut(session));
  for (size_t free = session.streamsFree(); free > 0 && !waiters_.empty(); --free) wakeWaiter({});
}

// The connection goes on; the session that began it does not.
void UpstreamPool::onSessionReplaced(ClientSession& session, std::unique_ptr<ClientSession> made) {
  Place& place = placeOf(session);
  session.retire();
  context_.loop.deleteLater(takeOut(session));
  ClientSession& fresh = *made;
  fresh.opened = session.opened;
  shelve(place, std::move(made));
  onStreamsFree(fresh);
}

// ---- Waiting ------------------------------------------------------------------------------------

bool UpstreamPool::wait(UpstreamWaiter& waiter) {
  if (!cluster_->takePending()) {
    counters_.overflows.add();
    return false;
  }
  ++waiting_;
  waiters_.pushBack(waiter);
  if (std::exchange(room_refused_, false) || !cluster_->hasRoom()) cluster_->wantRoom(*member_);
  return true;
}

void UpstreamPool::cancelWait(UpstreamWaiter& waiter) {
  if (!static_cast<ListNode<>&>(waiter).linked()) {
    // It was woken and goes before its turn: what it was woken for is the next one's.
    const bool woken = static_cast<Resumable&>(waiter).linked() && !waiter.failure;
    if (woken && !waiters_.empty()) wakeWaiter({});
    return;
  }
  static_cast<ListNode<>&>(waiter).unlink();
  --waiting_;
  cluster_->givePending();
  if (waiters_.empty()) cluster_->stopWanting(*member_);
}

void UpstreamPool::wakeWaiter(std::optional<Error> failure) {
  UpstreamWaiter* waiter = waiters_.front();
  cancelWait(*waiter);
  waiter->failure = std::move(failure);
  context_.loop.resumeLater(*waiter);
}

void UpstreamPool::onRoom() {
  if (!waiters_.empty() && cluster_->hasRoom()) wakeWaiter({});
}

void UpstreamPool::onRoomWanted() {
  if (cluster_->roomWanted() && waiters_.empty()) evictIdle();
}

// ---- Changes ------------------------------------------------------------------------------------

// Sessions to endpoints that stay are kept; the others end with their last loan.
void UpstreamPool::onEndpointsChanged() {
  auto fresh = cluster_->endpoints();
  if (fresh == set_) return;
  auto old = std::exchange(places_, {});
  for (const auto& endpoint : fresh->endpoints) {
    const auto kept = std::find_if(old.begin(), old.end(), [&](const auto& place) {
      return place != nullptr && place->endpoint == endpoint;
    });
    if (kept != old.end()) {
      places_.push_back(std::move(*kept));
    } else {
      places_.push_back(std::make_unique<Place>(endpoint));
      places_.back()->counters = &endpoint->counters(worker_);
    }
  }
  for (auto& place : old) {
    if (place != nullptr) retirePlace(std::move(place));
  }
  set_ = std::move(fresh);
  balancer_.reset(set_->endpoints.size());
  while (!waiters_.empty()) wakeWaiter({});
}

void UpstreamPool::retirePlace(std::unique_ptr<Place> place) {
  place->removed = true;
  while (ClientSession* session = place->idle.front()) drop(takeOut(*session));
  removed_.push_back(std::move(place));
  if (!sweep_timer_.armed()) sweep_timer_.arm(context_.loop.now() + options().idle);
}

// Closes what has been idle for too long; the least recently used are at the back.
void UpstreamPool::sweep() {
  TimePoint oldest;
  for (const auto& place : places_) {
    while (ClientSession* session = place->idle.back()) {
      if (session->idleSince() + options().idle > context_.loop.now()) {
        if (!oldest.set() || session->idleSince() < oldest) oldest = session->idleSince();
        break;
      }
      drop(takeOut(*session));
    }
  }
  std::erase_if(removed_, [](const auto& place) { return place->empty(); });
  if (!oldest.set() && !removed_.empty()) oldest = context_.loop.now();
  if (oldest.set()) sweep_timer_.arm(oldest + options().idle);
}

// Sessions that could not lend a stream in time, as an application that takes connections and says
// nothing.
void UpstreamPool::endOverdue() {
  const Error late{ErrorCode::Timeout, ErrorSource::Upstream, Retry::Yes, "no stream in time"};
  const TimePoint now = context_.loop.now();
  TimePoint next;
  const auto endIn = [&](Place& place) {
    while (ClientSession* oldest = place.pending.back()) {
      const TimePoint due = oldest->opened + options().connect;
      if (due > now) {
        if (!next.set() || due < next) next = due;
        return;
      }
      onSessionLost(*oldest, &late);
    }
  };
  for (const auto& place : places_) endIn(*place);
  for (const auto& place : removed_) endIn(*place);
  if (next.set()) pending_timer_.arm(next);
}

void UpstreamPool::awaitSession(ClientSession& session) {
  if (!pending_timer_.armed()) pending_timer_.arm(session.opened + options().connect);
}

}  // namespace flamegate::proxy
