// Consistent hashing: a key keeps its endpoint while others come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace flamegate::proxy {

// The same in every process and version: several proxies agree on where a key belongs.
uint64_t stableHash(std::string_view text);

// Immutable. A ring rather than a Maglev table: its memory follows the number of endpoints, and
// walking on from an endpoint that is down moves that endpoint's keys alone, evenly over the
// others.
class HashRing {
 public:
  struct Member {
    std::string_view name;
    uint32_t weight;
  };

  HashRing() = default;
  // Each member gets points in relation to its weight, at most 65,536 altogether and at least one.
  explicit HashRing(const std::vector<Member>& members);

  // The index of the first member at or after the key for which `eligible(index)` holds; SIZE_MAX:
  // none.
  template <typename Eligible>
  size_t find(uint64_t key, Eligible eligible) const {
    size_t at = startOf(key);
    for (size_t seen = 0; seen < points_.size(); ++seen, ++at) {
      if (at == points_.size()) at = 0;
      if (eligible(points_[at].member)) return points_[at].member;
    }
    return SIZE_MAX;
  }

 private:
  struct Point {
    uint64_t hash;
    uint32_t member;
  };

  size_t startOf(uint64_t key) const;

  std::vector<Point> points_;  // by hash
};

}  // namespace flamegate::proxy
