// One blocking GET, for the command line.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "control/api/exchange.h"
#include "proxy/base/result.h"
#include "proxy/net/address.h"

namespace flamegate::control {

struct FetchAnswer {
  std::uint16_t status = 0;
  std::string body;
};

// Errors: Unavailable when nobody listens there; Timeout; Malformed or Closed for a broken answer;
// TooLarge for one over 512 MiB.
proxy::Result<FetchAnswer> fetch(const proxy::Address& address, const std::string& target,
                                 const std::vector<HeaderLine>& headers,
                                 std::chrono::milliseconds patience);

}  // namespace flamegate::control
