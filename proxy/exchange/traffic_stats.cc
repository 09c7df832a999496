#include "proxy/exchange/traffic_stats.h"

#include <algorithm>
#include <numeric>

namespace flamegate::proxy {
namespace {

constexpr size_t kLabelledRoutesMax = 200;

std::string labelOf(const config::Route& route) {
  if (!route.name.empty()) return route.name;
  std::string label;
  if (!route.hosts.empty()) {
    label = (route.hosts.front().any_subdomain ? "*." : "") + route.hosts.front().name;
  }
  return label + route.match.path.text;
}

// Forgets what no attached statistics can name any more.
void keepNamed(TrafficRegistry::Sums& sums, const TrafficRegistry::Sums& named) {
  std::erase_if(sums, [&](const auto& entry) { return !named.contains(entry.first); });
}

}  // namespace

void DurationHistogram::Values::operator+=(const Values& other) {
  for (size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
  sum_us += other.sum_us;
}

uint64_t DurationHistogram::Values::count() const {
  return std::accumulate(buckets.begin(), buckets.end(), uint64_t{0});
}

void DurationHistogram::add(Duration duration) {
  const auto us = static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0) / 1000);
  size_t bucket = 0;
  while (bucket < kBoundsUs.size() && us > kBoundsUs[bucket]) ++bucket;
  buckets_[bucket].add();
  sum_us_.add(us);
}

DurationHistogram::Values DurationHistogram::values() const {
  Values values;
  for (size_t i = 0; i < buckets_.size(); ++i) values.buckets[i] = buckets_[i].get();
  values.sum_us = sum_us_.get();
  return values;
}

TrafficLabels::TrafficLabels(const config::Config& config) {
  for (const config::Route& route : config.routes) {
    routes.push_back(routes.size() < kLabelledRoutesMax ? labelOf(route) : "other");
  }
  for (const config::Cluster& cluster : config.clusters) clusters.push_back(cluster.name);
}

TrafficStats::TrafficStats(std::shared_ptr<const TrafficLabels> labels, TrafficRegistry& registry)
    : labels_(std::move(labels)),
      registry_(registry),
      routes_(labels_->routes.size()),
      clusters_(labels_->clusters.size()) {
  registry_.attach(*this);
}

TrafficStats::~TrafficStats() { registry_.detach(*this); }

void TrafficRegistry::attach(const TrafficStats& stats) {
  const std::lock_guard lock(mutex_);
  attached_.push_back(&stats);
}

void TrafficRegistry::detach(const TrafficStats& stats) {
  const std::lock_guard lock(mutex_);
  std::erase(attached_, &stats);
  sum(stats, detached_);
  Totals named;
  for (const TrafficStats* attached : attached_) sum(*attached, named);
  keepNamed(detached_.routes, named.routes);
  keepNamed(detached_.clusters, named.clusters);
}

TrafficRegistry::Totals TrafficRegistry::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = detached_;
  for (const TrafficStats* stats : attached_) sum(*stats, totals);
  return totals;
}

void TrafficRegistry::sum(const TrafficStats& stats, Totals& into) {
  for (size_t i = 0; i < stats.routes_.size(); ++i) {
    into.routes[stats.labels_->routes[i]] += stats.routes_[i].values();
  }
  for (size_t i = 0; i < stats.clusters_.size(); ++i) {
    into.clusters[stats.labels_->clusters[i]] += stats.clusters_[i].values();
  }
}

}  // namespace flamegate::proxy
