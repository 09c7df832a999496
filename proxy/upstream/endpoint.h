// One address of a cluster, as all workers see it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "proxy/base/clock.h"
#include "proxy/base/counter.h"
#include "proxy/net/address.h"

namespace flamegate::proxy {

// Where one endpoint of a set is and how much it gets.
struct EndpointTarget {
  Address address;
  std::string server;   // the name that it was configured by: for certificates and for probes
  uint32_t weight = 1;  // 1 to 1000; in relation to the others of the set
};

// What one worker does with an endpoint. Written by that worker alone.
struct alignas(64) EndpointCounters {
  Counter active;       // requests in flight
  Counter connections;  // open, idle ones too
  Counter requests;
  Counter failures;  // connects and answers that count against the endpoint
};

// Whether an endpoint is in use. Health checks and the results of traffic write here, seldom;
// workers read it for each request.
// Owner: shared by the sets that hold it and by the pools. Thread: any.
class Endpoint {
 public:
  Endpoint(EndpointTarget target, size_t workers)
      : target_(std::move(target)), name_(target_.address.toString()), counters_(workers) {}

  const Address& address() const { return target_.address; }
  const std::string& name() const { return name_; }
  const std::string& server() const { return target_.server; }
  uint32_t weight() const { return target_.weight; }
  bool leadsTo(const EndpointTarget& target) const {
    return name_ == target.address.toString() && target_.server == target.server &&
           target_.weight == target.weight;
  }

  // By the health checks; true until one of them says otherwise.
  bool healthy() const { return healthy_.load(std::memory_order_relaxed); }
  bool ejected(TimePoint now) const {
    const int64_t until = ejected_until_.load(std::memory_order_relaxed);
    return until != 0 && until > now.ns;
  }
  bool usable(TimePoint now) const { return healthy() && !ejected(now); }
  // When it last began, or will begin, to get traffic after a time without; not set: at the start.
  TimePoint usableSince() const { return {usable_since_.load(std::memory_order_relaxed)}; }

  void setHealthy(bool healthy, TimePoint now);
  void eject(TimePoint until);
  uint64_t ejections() const { return ejections_.load(std::memory_order_relaxed); }

  // Failures of traffic in a row, over all workers. The number after this one.
  uint32_t addFailure() { return failures_in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Costs a read unless there was a failure.
  void clearFailures() {
    if (failures_in_a_row_.load(std::memory_order_relaxed) != 0) {
      failures_in_a_row_.store(0, std::memory_order_relaxed);
    }
  }

  // What the last health check found, for people; empty: there was none. Unix time in ms.
  struct Check {
    int64_t at_ms = 0;
    std::string outcome;
  };
  void noteCheck(Check check);
  Check lastCheck() const;

  EndpointCounters& counters(size_t worker) { return counters_[worker]; }
  const EndpointCounters& counters(size_t worker) const { return counters_[worker]; }
  // Over all workers.
  uint64_t total(Counter EndpointCounters::*member) const {
    uint64_t sum = 0;
    for (const EndpointCounters& each : counters_) sum += (each.*member).get();
    return sum;
  }

 private:
  const EndpointTarget target_;
  const std::string name_;
  std::atomic<bool> healthy_{true};
  std::atomic<int64_t> ejected_until_{0};  // monotonic ns; 0: never was
  std::atomic<int64_t> usable_since_{0};
  std::atomic<uint32_t> failures_in_a_row_{0};
  std::atomic<uint64_t> ejections_{0};
  mutable std::mutex mutex_;
  Check last_check_;  // guarded by mutex_
  std::vector<EndpointCounters> counters_;
};

}  // namespace flamegate::proxy
