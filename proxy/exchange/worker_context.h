// What the exchanges of one worker share under one snapshot.
#pragma once

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
  WorkerContext(ClientSessionContext& sessions, std::shared_ptr<const Snapshot> in_force,
                WorkerCounters& worker_counters, DateCache& date_cache)
      : loop(sessions.loop),
        snapshot(std::move(in_force)),
        counters(worker_counters),
        date(date_cache) {
    for (const UpstreamOptions& options : snapshot->upstreams) {
      pools.push_back(std::make_unique<UpstreamPool>(sessions, options));
    }
  }

  EventLoop& loop;
  const std::shared_ptr<const Snapshot> snapshot;
  WorkerCounters& counters;
  DateCache& date;
  std::vector<std::unique_ptr<UpstreamPool>> pools;  // as Snapshot::upstreams
  std::vector<std::unique_ptr<Filter>> filters;      // in the order of requests
  std::vector<Filter*> response_filters;             // those of them that see every response
  std::unique_ptr<TrafficStats> traffic;             // null: nobody reads it
  AccessLogger* access_log = nullptr;                // null: none is written
  size_t exchanges = 0;                              // that pin this context
};

}  // namespace flamegate::proxy
