// A bound on what all workers together may have, without a counter that each request contends for.
#pragma once

#include <atomic>
#include <cstddef>

namespace flamegate::proxy {

// Places that workers take in lots. What is handed out never passes the bound. While other workers
// hold places that they do not use, a worker may be refused earlier: at 7/8 of a large bound, and
// never earlier than the bound for one below 32 places a worker, whose lots are single places.
// Owner: a cluster. Thread: any.
class SharedLimit {
 public:
  SharedLimit(size_t max, size_t workers) : max_(max), lot_(max / (workers * 32)), free_(max) {}

  size_t max() const { return max_; }
  // Places that a worker keeps at hand; 0: none.
  size_t lot() const { return lot_; }
  // Up to `wanted` places.
  size_t take(size_t wanted);
  void give(size_t places) { free_.fetch_add(places, std::memory_order_relaxed); }

 private:
  const size_t max_;
  const size_t lot_;
  std::atomic<size_t> free_;
};

// One worker's part of a bound. Thread: that worker's. Ends: after what it took was given back.
class LimitShare {
 public:
  explicit LimitShare(SharedLimit& limit) : limit_(limit) {}
  LimitShare(const LimitShare&) = delete;
  LimitShare& operator=(const LimitShare&) = delete;
  ~LimitShare() { limit_.give(spare_); }

  bool take() {
    if (spare_ == 0) {
      spare_ = limit_.take(limit_.lot() + 1);
      if (spare_ == 0) return false;
    }
    --spare_;
    return true;
  }
  void give() {
    if (++spare_ <= 2 * limit_.lot()) return;
    limit_.give(spare_ - limit_.lot());
    spare_ = limit_.lot();
  }

 private:
  SharedLimit& limit_;
  size_t spare_ = 0;
};

}  // namespace flamegate::proxy
