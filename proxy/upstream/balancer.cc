#include "proxy/upstream/balancer.h"

#include <algorithm>

namespace flamegate::proxy {
namespace {

constexpr size_t kAllLookedAtMax = 16;
constexpr int kTriesOfTwo = 4;
// Weights are compared in these parts, so that a slow start has steps.
constexpr uint64_t kWeightParts = 1000;
constexpr uint64_t kSlowStartPartsMin = kWeightParts / 10;
constexpr size_t kNone = SIZE_MAX;

enum class Strictness : unsigned char { Preferred, Usable, Healthy };

}  // namespace

// The set as one choice sees it.
struct Balancer::View {
  const EndpointSet& set;
  const Wish& wish;
  Strictness strictness;
  Duration slow_start;
  size_t worker;

  size_t size() const { return set.endpoints.size(); }
  bool eligible(size_t at) const {
    const Endpoint& endpoint = *set.endpoints[at];
    if (strictness == Strictness::Healthy) return endpoint.healthy();
    if (strictness == Strictness::Preferred && &endpoint == wish.avoid) return false;
    return endpoint.usable(wish.now);
  }
  uint64_t weight(size_t at) const {
    const Endpoint& endpoint = *set.endpoints[at];
    return endpoint.weight() * (slow_start.count() == 0 ? kWeightParts : rampOf(endpoint));
  }
  uint64_t rampOf(const Endpoint& endpoint) const {
    const TimePoint since = endpoint.usableSince();
    if (!since.set()) return kWeightParts;
    const Duration elapsed = std::max(wish.now - since, Duration(0));
    if (elapsed >= slow_start) return kWeightParts;
    const auto parts = static_cast<uint64_t>(elapsed.count()) /
                       (static_cast<uint64_t>(slow_start.count()) / kWeightParts + 1);
    return std::max(parts, kSlowStartPartsMin);
  }
  uint64_t active(size_t at) const { return set.endpoints[at]->counters(worker).active.get(); }
  // Whether `a` has less to do for its weight than `b`.
  bool lessBusy(size_t a, size_t b) const {
    return (active(a) + 1) * weight(b) < (active(b) + 1) * weight(a);
  }
};

Balancer::Balancer(const ClusterOptions& options, size_t worker)
    : policy_(options.balance),
      slow_start_(options.slow_start),
      worker_(worker),
      random_state_(0x9e3779b97f4a7c15ULL * (worker + 1)) {}

// Workers begin at different endpoints.
void Balancer::reset(size_t endpoints) {
  next_ = endpoints == 0 ? 0 : worker_ % endpoints;
  turns_.assign(policy_ == BalancePolicy::RoundRobin ? endpoints : 0, 0);
}

size_t Balancer::choose(const EndpointSet& set, const Wish& wish) {
  for (const Strictness strictness :
       {Strictness::Preferred, Strictness::Usable, Strictness::Healthy}) {
    const View view{set, wish, strictness, slow_start_, worker_};
    if (view.size() == 1) {
      if (view.eligible(0)) return 0;
      continue;
    }
    if (const size_t found = pick(view); found != kNone) return found;
  }
  return kNone;
}

size_t Balancer::pick(const View& view) {
  switch (policy_) {
    case BalancePolicy::LeastRequest:
      return leastRequest(view);
    case BalancePolicy::RoundRobin:
      return roundRobin(view);
    case BalancePolicy::Random:
      return random(view);
    case BalancePolicy::Hash:
      if (!view.wish.key) return random(view);
      return view.set.ring.find(*view.wish.key, [&](size_t at) { return view.eligible(at); });
  }
  return kNone;
}

size_t Balancer::leastRequest(const View& view) {
  const size_t count = view.size();
  if (count > kAllLookedAtMax) {
    if (const size_t found = lessBusyOfTwo(view); found != kNone) return found;
  }
  size_t best = kNone;
  size_t at = next_;
  for (size_t i = 0; i < count; ++i, ++at) {
    if (at >= count) at = 0;
    if (view.eligible(at) && (best == kNone || view.lessBusy(at, best))) best = at;
  }
  if (best != kNone) next_ = best + 1;
  return best;
}

// None when chance did not meet an eligible one soon.
size_t Balancer::lessBusyOfTwo(const View& view) {
  size_t first = kNone;
  for (int i = 0; i < kTriesOfTwo; ++i) {
    const size_t at = nextRandom() % view.size();
    if (at == first || !view.eligible(at)) continue;
    if (first != kNone) return view.lessBusy(at, first) ? at : first;
    first = at;
  }
  return first;
}

// Each is credited its weight a turn; the one with the most credit is taken and pays for all.
size_t Balancer::roundRobin(const View& view) {
  size_t best = kNone;
  int64_t whole = 0;
  size_t at = next_;
  for (size_t i = 0; i < view.size(); ++i, ++at) {
    if (at >= view.size()) at = 0;
    if (!view.eligible(at)) continue;
    const auto weight = static_cast<int64_t>(view.weight(at));
    whole += weight;
    turns_[at] += weight;
    if (best == kNone || turns_[at] > turns_[best]) best = at;
  }
  if (best != kNone) turns_[best] -= whole;
  return best;
}

size_t Balancer::random(const View& view) {
  uint64_t whole = 0;
  for (size_t at = 0; at < view.size(); ++at) {
    if (view.eligible(at)) whole += view.weight(at);
  }
  if (whole == 0) return kNone;
  uint64_t left = nextRandom() % whole;
  for (size_t at = 0; at < view.size(); ++at) {
    if (!view.eligible(at)) continue;
    const uint64_t weight = view.weight(at);
    if (left < weight) return at;
    left -= weight;
  }
  return kNone;
}

// SplitMix64: spreading load needs no better.
uint64_t Balancer::nextRandom() {
  uint64_t z = random_state_ += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace flamegate::proxy
