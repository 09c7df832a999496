#include "proxy/upstream/cluster.h"

#include <algorithm>

#include "proxy/upstream/pool.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kRetriesAlwaysAllowed = 3;

}  // namespace

Cluster::Cluster(ClusterOptions options, size_t workers)
    : options_(std::move(options)),
      requests_(options_.requests_max, workers),
      endpoints_(std::make_shared<EndpointSet>()),
      counters_(workers) {}

// ---- Endpoints ----------------------------------------------------------------------------------

std::shared_ptr<const EndpointSet> Cluster::endpoints() const {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

void Cluster::publish(std::vector<EndpointTarget> targets) {
  auto fresh = std::make_shared<EndpointSet>();
  const auto old = endpoints();
  std::vector<HashRing::Member> members;
  for (EndpointTarget& target : targets) {
    const auto leadsThere = [&](const auto& endpoint) { return endpoint->leadsTo(target); };
    auto& known = fresh->endpoints;
    // Two names may lead to one address: it counts once.
    if (std::any_of(known.begin(), known.end(), leadsThere)) continue;
    const auto kept = std::find_if(old->endpoints.begin(), old->endpoints.end(), leadsThere);
    known.push_back(kept != old->endpoints.end()
                        ? *kept
                        : std::make_shared<Endpoint>(std::move(target), counters_.size()));
    members.push_back({known.back()->name(), known.back()->weight()});
  }
  if (fresh->endpoints == old->endpoints) return;
  if (options_.balance == BalancePolicy::Hash) fresh->ring = HashRing(members);
  const std::lock_guard lock(mutex_);
  endpoints_ = std::move(fresh);
  for (const auto& member : members_) postTo(member, &UpstreamPool::onEndpointsChanged);
}

void Cluster::inherit(const Cluster& other) {
  if (other.counters_.size() != counters_.size()) return;
  auto set = std::make_shared<EndpointSet>();
  set->endpoints = other.endpoints()->endpoints;
  std::vector<HashRing::Member> members;
  for (const auto& endpoint : set->endpoints)
    members.push_back({endpoint->name(), endpoint->weight()});
  if (options_.balance == BalancePolicy::Hash) set->ring = HashRing(members);
  const std::lock_guard lock(mutex_);
  endpoints_ = std::move(set);
}

// At most half of the endpoints are out at a time, so that at least one stays.
void Cluster::onFailure(Endpoint& endpoint, TimePoint now) {
  if (endpoint.addFailure() < options_.outlier->consecutive || endpoint.ejected(now)) return;
  const std::lock_guard lock(mutex_);
  const auto& all = endpoints_->endpoints;
  const auto out = static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [&](const auto& each) { return each->ejected(now); }));
  if (endpoint.ejected(now)) return;
  if ((out + 1) * 2 > all.size()) {
    ejections_prevented_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  endpoint.eject(now + options_.outlier->eject);
}

// ---- Limits -------------------------------------------------------------------------------------

bool Cluster::take(std::atomic<size_t>& count, size_t max) {
  size_t now = count.load(std::memory_order_relaxed);
  while (now < max) {
    if (count.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

bool Cluster::takeRetry() {
  const size_t share = total(&ClusterCounters::active) * options_.retry_budget_percent / 100;
  return take(retries_, std::max(kRetriesAlwaysAllowed, share));
}

uint64_t Cluster::total(Counter ClusterCounters::*member) const {
  uint64_t sum = 0;
  for (const ClusterCounters& each : counters_) sum += (each.*member).get();
  return sum;
}

// ---- Pools --------------------------------------------------------------------------------------

std::shared_ptr<Cluster::Member> Cluster::join(EventLoop& loop, UpstreamPool& pool) {
  auto member = std::make_shared<Member>(Member{.loop = loop, .pool = &pool});
  const std::lock_guard lock(mutex_);
  members_.push_back(member);
  return member;
}

void Cluster::leave(const std::shared_ptr<Member>& member) {
  stopWanting(*member);
  member->pool = nullptr;
  const std::lock_guard lock(mutex_);
  std::erase(members_, member);
}

// Under mutex_, so that the loop is there: a pool leaves before its loop ends.
void Cluster::postTo(const std::shared_ptr<Member>& member, void (UpstreamPool::*call)()) {
  member->loop.post([member, call] {
    if (member->pool != nullptr) (member->pool->*call)();
  });
}

void Cluster::wantRoom(Member& member) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(member.wanting, true)) wanting_.fetch_add(1, std::memory_order_seq_cst);
  for (const auto& other : members_) {
    postTo(other, other.get() == &member ? &UpstreamPool::onRoom : &UpstreamPool::onRoomWanted);
  }
}

void Cluster::stopWanting(Member& member) {
  const std::lock_guard lock(mutex_);
  if (!member.wanting) return;
  member.wanting = false;
  wanting_.fetch_sub(1, std::memory_order_relaxed);
}

// The order of the two atomics makes that either the room is seen by who wants it, or the wish
// here.
void Cluster::giveConnection() {
  connections_.fetch_sub(1, std::memory_order_seq_cst);
  if (wanting_.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  for (const auto& member : members_) {
    if (member->wanting) postTo(member, &UpstreamPool::onRoom);
  }
}

}  // namespace flamegate::proxy
