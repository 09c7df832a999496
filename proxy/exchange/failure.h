// From what went wrong to what the client and the logs are told: the one table.
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/base/result.h"

namespace flamegate::proxy {

struct FailureReply {
  uint16_t status;          // 0: the client is gone, nothing can be answered
  std::string_view reason;  // in the access log, the metrics and the answer
};

// For a failure before a response head was sent.
FailureReply failureReply(const Error& error);

}  // namespace flamegate::proxy
