// The connections of one worker to one cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/upstream/balancer.h"
#include "proxy/upstream/cluster.h"

namespace flamegate::proxy {

// An exchange that waits for a stream; its resume() is called once when acquire() may succeed.
class UpstreamWaiter : public ListNode<>, public Resumable {
 public:
  // Why the session that was waited for could not be had; empty otherwise. Taken by whoever
  // resumes.
  std::optional<Error> failure;
  const Endpoint* failed_at = nullptr;  // where, with a failure; to compare only

 protected:
  ~UpstreamWaiter() = default;
};

// Which connection an exchange can use.
struct UpstreamNeed {
  bool fresh = false;         // a new one: the last attempt met a connection that was being closed
  bool unrepeatable = false;  // the request must not be sent twice: a kept one is probed first
  const Endpoint* other_than = nullptr;  // an endpoint to avoid, if there is another
  std::optional<uint64_t> key = {};      // what a cluster that balances by hash goes by
};

struct UpstreamLease {
  ClientStream* stream = nullptr;
  ClientSession* session = nullptr;
  Endpoint* endpoint = nullptr;  // may go after the loan: then no more than a name for it
};

// Lends streams, of the connection used last first; balances over the endpoints.
// Owner: shared by the contexts of one worker, so that connections outlive a reload that leaves the
// cluster as it is. Thread: the worker's. Ends: after all its leases were given back.
class UpstreamPool final : private ClientSessionOwner {
 public:
  // `worker`: its index among the cluster's.
  UpstreamPool(ClientSessionContext& context, std::shared_ptr<Cluster> cluster, size_t worker);
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;
  ~UpstreamPool();

  Cluster& cluster() { return *cluster_; }
  const ClusterOptions& options() const { return cluster_->options(); }

  // An exchange asks for its place in the cluster before the first acquire(); false: over the limit
  // of requests. leave() gives it back.
  bool enter();
  void leave();
  // Asked before each further attempt, beside enter(); endRetry() when that attempt is over.
  bool beginRetry();
  void endRetry() { cluster_->giveRetry(); }

  // Errors, source Upstream: NotFound (no endpoint is known), Unavailable (none is healthy), Full
  // (at the limit of connections, or no session is ready yet: wait()), Reset (connect failed at
  // once).
  Result<UpstreamLease> acquire(ClientStreamEvents& events, const UpstreamNeed& need);
  // Where the last acquire() failed to begin a connection; to compare only.
  const Endpoint* failedAt() const { return failed_at_; }
  // Queues behind others; false when too many wait.
  bool wait(UpstreamWaiter& waiter);
  // Must precede the end of a waiter that is still queued.
  void cancelWait(UpstreamWaiter& waiter);
  // Ends a loan. The connection is kept when it can carry another request.
  void release(const UpstreamLease& lease);
  // What came of a request: whether it failed as a gateway error does. At most once a lease.
  void onResult(const UpstreamLease& lease, bool failed);

  size_t endpointCount() const { return set_->endpoints.size(); }
  size_t connections() const { return connections_; }

  // Posted by the cluster: other endpoints, another pool wants a connection, one may be opened.
  void onEndpointsChanged();
  void onRoomWanted();
  void onRoom();

 private:
  using Shelf = OwningList<ClientSession>;

  // An endpoint's sessions of this pool.
  struct Place {
    explicit Place(std::shared_ptr<Endpoint> of) : endpoint(std::move(of)) {}

    std::shared_ptr<Endpoint> endpoint;
    EndpointCounters* counters = nullptr;
    bool removed = false;  // from the set: nothing more is lent
    Shelf idle;            // nothing is lent; last used first
    Shelf open;            // some streams are lent, others free
    Shelf busy;            // no stream is free, for now or for ever
    Shelf pending;         // no stream has been free yet

    size_t size() const { return idle.size() + open.size() + busy.size() + pending.size(); }
    bool empty() const { return size() == 0; }
  };

  void onSessionLost(ClientSession& session, const Error* why) override;
  void onStreamsFree(ClientSession& session) override;
  void onSessionReplaced(ClientSession& session, std::unique_ptr<ClientSession> made) override;

  static Place& placeOf(ClientSession& session) { return *static_cast<Place*>(session.endpoint()); }
  ClientSession* findSession(Place& place, bool probe);
  Result<ClientSession*> openSession(Place& place);
  bool roomForSession();
  bool evictIdle();
  std::unique_ptr<ClientSession> takeOut(ClientSession& session);
  void shelve(Place& place, std::unique_ptr<ClientSession> session);
  bool keepOrDrop(Place& place, std::unique_ptr<ClientSession> session);
  void drop(std::unique_ptr<ClientSession> session);
  void retirePlace(std::unique_ptr<Place> place);
  void wakeWaiter(std::optional<Error> failure);
  void sweep();
  void endOverdue();
  void awaitSession(ClientSession& session);

  ClientSessionContext& context_;
  const std::shared_ptr<Cluster> cluster_;
  const size_t worker_;
  ClusterCounters& counters_;
  LimitShare requests_;
  Balancer balancer_;
  std::shared_ptr<const EndpointSet> set_;
  std::vector<std::unique_ptr<Place>> places_;   // as the set's endpoints
  std::vector<std::unique_ptr<Place>> removed_;  // that still have leases
  IntrusiveList<UpstreamWaiter> waiters_;
  const Endpoint* failed_at_ = nullptr;
  size_t waiting_ = 0;
  size_t connections_ = 0;
  std::shared_ptr<Cluster::Member> member_;
  bool room_refused_ = false;  // the last session could not be opened for the cluster's limit
  Timer sweep_timer_;
  Timer pending_timer_;
};

}  // namespace flamegate::proxy
