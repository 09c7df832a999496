// Which endpoint a request goes to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proxy/upstream/cluster.h"

namespace flamegate::proxy {

// Chooses among the usable endpoints of a set by the cluster's policy, weights and slow start:
// - least_request: the fewest requests of this worker in relation to the weight. Up to 16 endpoints
//   are all looked at, from another one each time; of more, two at random are compared, which comes
//   close to the best at a cost that does not grow.
// - round_robin: in turn, smoothly interleaved by weight.
// - random: by weight.
// - hash: the endpoint of the key on the ring; when it is out, the next one there. Without a key:
//   random. Weight counts, slow start does not, as moving keys back and forth costs more than it
//   saves.
// An endpoint to be avoided is taken when there is no other; ejected ones are taken when nothing
// else is healthy; unhealthy ones never. Owner: a pool. Thread: its loop's.
class Balancer {
 public:
  Balancer(const ClusterOptions& options, size_t worker);

  // The set has changed; what was remembered of the old one's order is void.
  void reset(size_t endpoints);

  struct Wish {
    std::optional<uint64_t> key = {};  // Hash only
    const Endpoint* avoid = nullptr;
    TimePoint now = {};
  };
  // An index into the set's endpoints; SIZE_MAX: none is healthy.
  size_t choose(const EndpointSet& set, const Wish& wish);

 private:
  struct View;

  size_t pick(const View& view);
  size_t leastRequest(const View& view);
  size_t lessBusyOfTwo(const View& view);
  size_t roundRobin(const View& view);
  size_t random(const View& view);
  uint64_t nextRandom();

  const BalancePolicy policy_;
  const Duration slow_start_;
  const size_t worker_;
  uint64_t random_state_;
  size_t next_ = 0;
  std::vector<int64_t> turns_;  // RoundRobin: how much each is ahead of or behind its share
};

}  // namespace flamegate::proxy
