#include "proxy/upstream/endpoint.h"

#include <algorithm>

namespace flamegate::proxy {

void Endpoint::setHealthy(bool healthy, TimePoint now) {
  if (healthy == this->healthy()) return;
  if (healthy) {
    const int64_t ejected_until = ejected_until_.load(std::memory_order_relaxed);
    usable_since_.store(std::max(now.ns, ejected_until), std::memory_order_relaxed);
    clearFailures();
  }
  healthy_.store(healthy, std::memory_order_relaxed);
}

void Endpoint::eject(TimePoint until) {
  ejections_.fetch_add(1, std::memory_order_relaxed);
  usable_since_.store(until.ns, std::memory_order_relaxed);
  ejected_until_.store(until.ns, std::memory_order_relaxed);
  clearFailures();
}

void Endpoint::noteCheck(Check check) {
  const std::lock_guard lock(mutex_);
  last_check_ = std::move(check);
}

Endpoint::Check Endpoint::lastCheck() const {
  const std::lock_guard lock(mutex_);
  return last_check_;
}

}  // namespace flamegate::proxy
