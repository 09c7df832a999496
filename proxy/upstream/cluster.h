// A cluster as all workers share it: its endpoints, their state, and its limits.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "proxy/session/client_connector.h"
#include "proxy/upstream/endpoint.h"
#include "proxy/upstream/hash_ring.h"
#include "proxy/upstream/shared_limit.h"

namespace flamegate::proxy {

class UpstreamPool;

enum class BalancePolicy : unsigned char { LeastRequest, RoundRobin, Random, Hash };

struct ClusterOptions {
  struct Outlier {
    uint32_t consecutive = 5;
    Duration eject = std::chrono::seconds(30);
  };

  std::string name = {};
  BalancePolicy balance = BalancePolicy::LeastRequest;
  ClientConnector connector = {};
  std::optional<Outlier> outlier = {};
  Duration slow_start = {};  // 0: none
  // Over all workers.
  size_t connections_max = 1024;
  size_t pending_max = 1024;   // exchanges that wait for a stream
  size_t requests_max = 4096;  // in flight, with those that wait
  uint32_t retry_budget_percent = 20;
  Duration connect = std::chrono::seconds(5);  // until a session can lend its first stream
  Duration idle = std::chrono::seconds(30);
};

// The endpoints at one time. Immutable, though not their states.
struct EndpointSet {
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  HashRing ring;  // over them; empty unless the cluster balances by hash
};

// What one worker counts for a cluster.
struct alignas(64) ClusterCounters {
  Counter active;  // requests in flight, with those that wait
  Counter requests;
  Counter overflows;  // refused by a limit
  Counter retries;
  Counter retries_refused;  // by the retry budget
};

// Owner: shared by snapshots and pools. Thread: any, but publish() the main one's.
class Cluster {
 public:
  Cluster(ClusterOptions options, size_t workers);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const ClusterOptions& options() const { return options_; }
  size_t workers() const { return counters_.size(); }
  std::shared_ptr<const EndpointSet> endpoints() const;
  // Replaces the endpoints; the state of those that stay goes on. Pools hear of it on their loops.
  void publish(std::vector<EndpointTarget> targets);
  // Before the first publish(): states of endpoints that `other` has, too, go on here.
  void inherit(const Cluster& other);

  // What came of a request at an endpoint: whether it failed as a gateway error does. May eject.
  void onResult(Endpoint& endpoint, bool failed, TimePoint now) {
    if (!options_.outlier) return;
    if (failed) {
      onFailure(endpoint, now);
    } else {
      endpoint.clearFailures();
    }
  }
  // How often an endpoint was not ejected because too many are.
  uint64_t ejectionsPrevented() const { return ejections_prevented_.load(); }

  // ---- Limits ----
  SharedLimit& requests() { return requests_; }
  // Reserves a connection or a place in the queue; false at the limit.
  bool takeConnection() { return take(connections_, options_.connections_max); }
  void giveConnection();
  // For now; takeConnection() decides.
  bool hasRoom() const { return connections() < options_.connections_max; }
  bool takePending() { return take(pending_, options_.pending_max); }
  void givePending() { pending_.fetch_sub(1, std::memory_order_relaxed); }
  // A retry may go on while retries are within their share of the requests in flight, or few.
  bool takeRetry();
  void giveRetry() { retries_.fetch_sub(1, std::memory_order_relaxed); }

  // Whether a pool waits for a connection that others hold idle.
  bool roomWanted() const { return wanting_.load(std::memory_order_relaxed) > 0; }

  size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  size_t pending() const { return pending_.load(std::memory_order_relaxed); }
  ClusterCounters& counters(size_t worker) { return counters_[worker]; }
  uint64_t total(Counter ClusterCounters::*member) const;

  // ---- Pools ----
  // A pool as others may reach it: by posting to its loop, where `pool` is null once it has gone.
  struct Member {
    EventLoop& loop;
    UpstreamPool* pool;    // its loop's thread alone
    bool wanting = false;  // guarded by Cluster::mutex_
  };
  std::shared_ptr<Member> join(EventLoop& loop, UpstreamPool& pool);
  void leave(const std::shared_ptr<Member>& member);
  // The pool cannot open a connection: the others give one up if they have it idle, and the pool's
  // onRoom() comes when there is room. Ends by stopWanting().
  void wantRoom(Member& member);
  void stopWanting(Member& member);

 private:
  static bool take(std::atomic<size_t>& count, size_t max);
  void onFailure(Endpoint& endpoint, TimePoint now);
  void postTo(const std::shared_ptr<Member>& member, void (UpstreamPool::*call)());

  const ClusterOptions options_;
  SharedLimit requests_;
  std::atomic<size_t> connections_{0};
  std::atomic<size_t> pending_{0};
  std::atomic<size_t> retries_{0};
  std::atomic<size_t> wanting_{0};
  std::atomic<uint64_t> ejections_prevented_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const EndpointSet> endpoints_;  // guarded by mutex_
  std::vector<std::shared_ptr<Member>> members_;  // guarded by mutex_
  std::vector<ClusterCounters> counters_;
};

}  // namespace flamegate::proxy
