// What a worker counts. Written by its own thread alone, read by the metrics page.
#pragma once

#include <array>
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

// Owner: a worker; on cache lines of its own.
struct alignas(64) WorkerCounters {
  std::array<Counter, 6> responses;  // by class: [1] 1xx … [5] 5xx; [0] none was sent
  Counter connections_accepted;
  Counter connections_open;
  Counter requests;
  Counter requests_active;
  Counter requests_refused;  // answered by the session: malformed heads, header timeouts
  Counter local_replies;
  Counter upstream_failures;
  Counter retries;
  Counter client_aborts;
  Counter bytes_sent;
  Counter log_lines_dropped;
};

}  // namespace flamegate::proxy
