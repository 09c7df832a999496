// Which store, and its limits: plain values, converted from the configuration by the caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "control/store/store.h"
#include "proxy/base/result.h"

namespace flamegate::control {

enum class StoreKind : unsigned char { Embedded, Redis, Memory };

struct Retention {
  std::chrono::milliseconds age = std::chrono::hours(24);
  uint64_t bytes = 1ull << 30;
  uint64_t profiles = 100'000;
  bool pinned = true;  // false: pins are refused
};

struct RedisOptions {
  std::string url;  // redis://[user[:password]@]host[:port][/db] or unix:/path[?db=N]; parts
                    // percent-encoded
  std::string key_prefix = "fg:";
  std::chrono::milliseconds timeout{500};  // of connecting, and of each command
};

using WallClock = std::function<WallTime()>;
WallTime systemWallTime();

struct StoreOptions {
  StoreKind kind = StoreKind::Embedded;
  std::string path = "flamegate.db";
  RedisOptions redis;
  Retention retention;
  uint64_t body_bytes_max = 32u << 20;
  QueueLimits queue;
  WallClock clock = systemWallTime;
};

// Fails only for what waiting cannot cure: a bad URL (Malformed), a kind not served (Unsupported),
// another process on the same file (Conflict). A medium that is away at present is retried while
// calls end in Unavailable.
proxy::Result<std::unique_ptr<Store>> createStore(const StoreOptions& options);

}  // namespace flamegate::control
