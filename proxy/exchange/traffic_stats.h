// How long requests took, by route and by cluster: for the metrics page.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "proxy/base/clock.h"
#include "proxy/exchange/counters.h"

namespace flamegate::proxy {

// Durations counted in buckets. Written by one thread, read by any.
class DurationHistogram {
 public:
  // Upper bounds in microseconds; what is longer is in one more bucket.
  static constexpr std::array<uint64_t, 14> kBoundsUs = {
      500,     1'000,   2'500,   5'000,     10'000,    25'000,    50'000,
      100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};

  struct Values {
    std::array<uint64_t, kBoundsUs.size() + 1> buckets{};  // not cumulative
    uint64_t sum_us = 0;

    void operator+=(const Values& other);
    uint64_t count() const;
  };

  void add(Duration duration);
  Values values() const;

 private:
  std::array<Counter, kBoundsUs.size() + 1> buckets_;
  Counter sum_us_;
};

// Names for a configuration's routes and clusters: a route's is its `name`, else its first host and
// its path. Those of more than 200 routes share "other".
struct TrafficLabels {
  explicit TrafficLabels(const config::Config& config);

  std::vector<std::string> routes;
  std::vector<std::string> clusters;
};

class TrafficRegistry;

// What one worker measures under one snapshot. Owner: a WorkerContext. Thread: the worker's; read
// by the registry's, which outlives it.
class TrafficStats {
 public:
  TrafficStats(std::shared_ptr<const TrafficLabels> labels, TrafficRegistry& registry);
  ~TrafficStats();

  // A request of a route has ended.
  void noteRoute(size_t route, Duration whole) { routes_[route].add(whole); }
  // A cluster has answered: from asking for a connection to the response head.
  void noteUpstream(size_t cluster, Duration to_head) { clusters_[cluster].add(to_head); }

 private:
  friend class TrafficRegistry;
  const std::shared_ptr<const TrafficLabels> labels_;
  TrafficRegistry& registry_;
  std::vector<DurationHistogram> routes_;
  std::vector<DurationHistogram> clusters_;
};

// Sums over all workers, and over snapshots that are not in force any more as long as a present one
// has the name. Owner: the process. Thread: any.
class TrafficRegistry {
 public:
  using Sums = std::map<std::string, DurationHistogram::Values>;
  struct Totals {
    Sums routes;
    Sums clusters;
  };

  Totals totals() const;

 private:
  friend class TrafficStats;
  // `stats` is read until it is detached; then what it counted is kept.
  void attach(const TrafficStats& stats);
  void detach(const TrafficStats& stats);
  static void sum(const TrafficStats& stats, Totals& into);

  mutable std::mutex mutex_;
  std::vector<const TrafficStats*> attached_;  // guarded by mutex_
  Totals detached_;                            // guarded by mutex_
};

}  // namespace flamegate::proxy
