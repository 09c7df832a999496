// The connections of one worker to one cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/base/owning_list.h"
#include "proxy/net/address.h"
#include "proxy/session/http1_client_session.h"

namespace flamegate::proxy {

struct UpstreamOptions {
  enum class Balance : unsigned char { LeastRequest, RoundRobin };

  std::vector<Address> endpoints;
  Balance balance = Balance::LeastRequest;
  size_t connections_max = 1024;  // of this worker
  size_t pending_max = 1024;      // exchanges of this worker that wait for a connection
  Duration idle = std::chrono::seconds(30);
};

// An exchange that waits for a connection; its resume() is called once when acquire() may succeed.
class UpstreamWaiter : public ListNode<>, public Resumable {
 protected:
  ~UpstreamWaiter() = default;
};

// Which connection an exchange can use.
struct UpstreamNeed {
  bool fresh = false;       // a new one: the last attempt met a connection that was being closed
  bool unrepeatable = false;  // the request must not be sent twice: a kept one is probed first
  size_t other_than = SIZE_MAX;  // an endpoint to avoid, if there is another
};

struct UpstreamLease {
  ClientStream* stream = nullptr;
  size_t endpoint = 0;
};

// Lends connections, last used first; balances over the endpoints when there is a choice.
// Owner: a worker's context. Thread: its loop's. Ends: after all its leases were given back.
class UpstreamPool final : private IdleSessionOwner {
 public:
  UpstreamPool(ClientSessionContext& context, UpstreamOptions options);
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;
  ~UpstreamPool();

  // Errors: Unavailable (no endpoint), Full (at the limit: wait()), Reset (connect failed at once).
  Result<UpstreamLease> acquire(ClientStreamEvents& events, UpstreamNeed need);
  // Queues behind others; false when the queue is full.
  bool wait(UpstreamWaiter& waiter);
  // Must precede the end of a waiter that is still queued.
  void cancelWait(UpstreamWaiter& waiter);
  // Ends a loan. The connection is kept when it can carry another request.
  void release(const UpstreamLease& lease);

  const std::string& endpointName(size_t endpoint) const { return endpoints_[endpoint].name; }
  size_t endpointCount() const { return endpoints_.size(); }
  size_t connections() const { return connections_; }

 private:
  struct Endpoint {
    Address address;
    std::string name;
    size_t active = 0;  // leases
    OwningList<Http1ClientSession> idle;
  };

  void onIdleSessionLost(Http1ClientSession& session) override;
  size_t chooseEndpoint(size_t other_than);
  Http1ClientSession* takeIdle(Endpoint& endpoint, bool probe);
  bool evictIdle();
  void drop(std::unique_ptr<Http1ClientSession> session);
  void wakeWaiter();
  void sweep();

  ClientSessionContext& context_;
  UpstreamOptions options_;
  std::vector<Endpoint> endpoints_;
  OwningList<Http1ClientSession> busy_;
  IntrusiveList<UpstreamWaiter> waiters_;
  size_t waiting_ = 0;
  size_t connections_ = 0;
  size_t next_ = 0;
  Timer sweep_timer_;
};

}  // namespace flamegate::proxy
