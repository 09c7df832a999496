// Makes the store that the configuration asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/schema/config.h"
#include "control/store/store.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// Bounds that are not configured, and the clock that ages are measured by.
struct StoreTuning {
  uint64_t body_bytes_max = 32u << 20;  // of one profile
  QueueLimits queue;
  WallClock clock = systemWallTime;
};

// Fails only for what waiting cannot cure: another process has the file (Conflict), or a kind that
// is not served (Unsupported: Redis over TLS, with Sentinel, as a cluster). A medium that is away
// at present is tried again by itself, while calls end in Unavailable.
proxy::Result<std::unique_ptr<Store>> createStore(const config::Store& config,
                                                  StoreTuning tuning = {});

}  // namespace flamegate::control
