// A number that one thread counts and others read.
#pragma once

#include <atomic>
#include <cstdint>

namespace flamegate::proxy {

// A counter with one writer: an increment is a plain add, a reader never sees a torn value.
class Counter {
 public:
  void add(uint64_t by = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void subtract(uint64_t by = 1) {
    value_.store(value_.load(std::memory_order_relaxed) - by, std::memory_order_relaxed);
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace flamegate::proxy
