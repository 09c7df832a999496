#include "control/store/create_store.h"

#include "control/store/memory_medium.h"
#include "control/store/profile_keeper.h"
#include "control/store/redis_medium.h"
#include "control/store/sqlite_medium.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

proxy::Result<std::unique_ptr<StoreMedium>> createRedis(const config::Redis& config) {
  const auto unsupported = [](std::string_view what) {
    return proxy::fail(ErrorCode::Unsupported, ErrorSource::Config,
                       "store.redis: " + std::string(what) + " is not supported");
  };
  if (config.tls) return unsupported("TLS (rediss://)");
  if (config.cluster) return unsupported("a cluster");
  if (!config.sentinel_master.empty() || !config.sentinel_addresses.empty()) {
    return unsupported("Sentinel");
  }
  return std::make_unique<RedisMedium>(config);
}

proxy::Result<std::unique_ptr<StoreMedium>> createMedium(const config::Store& config) {
  switch (config.kind) {
    case config::Store::Kind::Memory:
      return std::make_unique<MemoryMedium>();
    case config::Store::Kind::Embedded: {
      auto medium = SqliteMedium::create(config.path);
      if (!medium) return proxy::fail(std::move(medium.error()));
      return std::move(*medium);
    }
    case config::Store::Kind::Redis:
      return createRedis(config.redis);
  }
  return proxy::fail(ErrorCode::Unsupported, ErrorSource::Config, "store.kind");
}

}  // namespace

proxy::Result<std::unique_ptr<Store>> createStore(const config::Store& config, StoreTuning tuning) {
  auto medium = createMedium(config);
  if (!medium) return proxy::fail(std::move(medium.error()));
  auto keeper = std::make_unique<ProfileKeeper>(
      std::move(*medium), ProfileKeeper::Limits{config.retention, tuning.body_bytes_max},
      std::move(tuning.clock));
  return std::make_unique<Store>(std::move(keeper), tuning.queue);
}

}  // namespace flamegate::control
