#include "proxy/upstream/hash_ring.h"

#include <algorithm>

namespace flamegate::proxy {
namespace {

constexpr uint64_t kPointsOfWeightOne = 160;
constexpr uint64_t kPointsMax = 65'536;

// The finalizer of MurmurHash3: every input bit reaches every output bit.
uint64_t mixed(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 33);
}

}  // namespace

// FNV-1a, finalized.
uint64_t stableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mixed(hash);
}

HashRing::HashRing(const std::vector<Member>& members) {
  uint64_t weights = 0;
  for (const Member& member : members) weights += member.weight;
  if (weights == 0) return;
  const uint64_t whole = std::min(weights * kPointsOfWeightOne, kPointsMax);
  for (uint32_t i = 0; i < members.size(); ++i) {
    const uint64_t seed = stableHash(members[i].name);
    const uint64_t count = std::max<uint64_t>(1, whole * members[i].weight / weights);
    for (uint64_t point = 0; point < count; ++point) {
      points_.push_back({mixed(seed + point * 0x9e3779b97f4a7c15ULL), i});
    }
  }
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.member < b.member;
  });
}

size_t HashRing::startOf(uint64_t key) const {
  const auto at =
      std::lower_bound(points_.begin(), points_.end(), key,
                       [](const Point& point, uint64_t hash) { return point.hash < hash; });
  return at == points_.end() ? 0 : static_cast<size_t>(at - points_.begin());
}

}  // namespace flamegate::proxy
