// What a worker counts. Written by its own thread alone, read by the metrics page.
#pragma once

#include <array>

#include "proxy/base/counter.h"

namespace flamegate::proxy {

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
