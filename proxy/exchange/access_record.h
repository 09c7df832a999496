// What is known of an exchange when it ends: for the access log and for captures.
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/base/clock.h"

namespace flamegate::proxy {

// Times are monotonic; one that is not set was not reached. Views last until the exchange is reset.
struct AccessRecord {
  TimePoint started;         // the request head was complete
  TimePoint upstream_begun;  // a connection was asked for, last attempt
  TimePoint connected;       // the request began to go out, last attempt
  TimePoint first_byte;      // the final response head was complete
  TimePoint ended;
  uint64_t request_bytes = 0;   // content
  uint64_t response_bytes = 0;  // with framing, as sent to the client
  uint32_t attempts = 0;        // connections used
  uint16_t status = 0;          // 0: none was sent
  std::string_view client;      // the client's address behind trusted proxies; empty: the peer's
  std::string_view reason;      // why the proxy answered by itself, or broke off; empty otherwise
  std::string_view endpoint;    // of the last attempt
  std::string_view profile_id;  // empty: not profiled
};

}  // namespace flamegate::proxy
