// What the exchanges of one worker share under one snapshot.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "proxy/exchange/counters.h"
#include "proxy/exchange/filter.h"
#include "proxy/exchange/snapshot.h"
#include "proxy/http/date.h"
#include "proxy/upstream/pool.h"

namespace flamegate::proxy {

class Exchange;

// Takes finished records. Thread: the worker's.
class AccessLogger {
 public:
  virtual void log(const Exchange& exchange) = 0;

 protected:
  ~AccessLogger() = default;
};

// Owner: a Worker; one in force, older ones until their last exchange ends. Thread: the worker's.
class WorkerContext {
 public:
  // `worker`: its index. Pools of `previous` (may be null) go on for clusters that stay as they
  // are.
  WorkerContext(ClientSessionContext& sessions, std::shared_ptr<const Snapshot> in_force,
                WorkerCounters& worker_counters, DateCache& date_cache, size_t worker,
                const WorkerContext* previous)
      : loop(sessions.loop),
        snapshot(std::move(in_force)),
        counters(worker_counters),
        date(date_cache) {
    for (const std::shared_ptr<Cluster>& cluster : snapshot->upstreams) {
      std::shared_ptr<UpstreamPool> pool =
          previous != nullptr ? previous->findPool(*cluster) : nullptr;
      if (pool == nullptr) pool = std::make_shared<UpstreamPool>(sessions, cluster, worker);
      pools.push_back(std::move(pool));
    }
  }

  // The pool of a cluster, or null.
  std::shared_ptr<UpstreamPool> findPool(const Cluster& cluster) const {
    const auto found = std::find_if(pools.begin(), pools.end(),
                                    [&](const auto& pool) { return &pool->cluster() == &cluster; });
    return found == pools.end() ? nullptr : *found;
  }

  EventLoop& loop;
  const std::shared_ptr<const Snapshot> snapshot;
  WorkerCounters& counters;
  DateCache& date;
  std::vector<std::shared_ptr<UpstreamPool>> pools;  // as Snapshot::upstreams
  std::vector<std::unique_ptr<Filter>> filters;      // in the order of requests
  std::vector<Filter*> response_filters;             // those of them that see every response
  std::unique_ptr<TrafficStats> traffic;             // null: nobody reads it
  AccessLogger* access_log = nullptr;                // null: none is written
  size_t exchanges = 0;                              // that pin this context
};

}  // namespace flamegate::proxy
