// Figures of the store, printed and not judged: profiles of 12 KB a second, and the time of one
// page out of 100,000 profiles.
#include <benchmark/benchmark.h>

#include "tests/control/store/store_support.h"

namespace flamegate::control {
namespace {

constexpr size_t kBodyBytes = 12 * 1024;
constexpr uint64_t kProfiles = 100'000;
// Calls on their way at once, as from several uploads.
constexpr size_t kInFlight = 512;

enum Subject { kMemory, kEmbedded, kRedis };

struct Setting {
  TempDir dir;
  std::unique_ptr<RedisServer> server;
  WaitingStore store;

  explicit Setting(int64_t subject) {
    config::Store config;
    config.path = dir.file("store.db");
    if (subject == kMemory) config.kind = config::Store::Kind::Memory;
    if (subject == kRedis) {
      server = std::make_unique<RedisServer>();
      config = server->config();
    }
    config.retention.bytes_max = 8ull << 30;
    auto made = createStore(config, manualTuning());
    if (made) store = WaitingStore(std::move(*made));
  }

  void put(uint64_t first, uint64_t count, const std::string& body) {
    for (uint64_t number = first; number < first + count; ++number) {
      store.get().put(testRecord(number), body, [](proxy::Result<>) {});
      if (number % kInFlight == 0) benchmark::DoNotOptimize(store.stats());
    }
    benchmark::DoNotOptimize(store.stats());
  }
};

void putProfiles(benchmark::State& state) {
  Setting setting(state.range(0));
  const std::string body = testBody(kBodyBytes);
  uint64_t number = 1;
  constexpr uint64_t kRound = 1024;
  for (auto _ : state) {
    setting.put(number, kRound, body);
    number += kRound;
  }
  state.SetItemsProcessed(static_cast<int64_t>(number - 1));
}
BENCHMARK(putProfiles)
    ->Arg(kMemory)
    ->Arg(kEmbedded)
    ->Arg(kRedis)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

ListQuery queryOf(int64_t kind) {
  ListQuery query;
  switch (kind) {
    case 0:
      break;
    case 1:
      query.host = "host-1";
      break;
    case 2:
      query.status = StatusRange{400, 499};
      break;
    case 3:
      query.q = "items/777";
      break;
    case 4:
      query.sort = SortField::Duration;
      query.trigger = Trigger::Campaign;
      query.min_duration = Micros(40'000'000);
      query.q = "host-2";
      break;
  }
  return query;
}

void listPage(benchmark::State& state) {
  static std::map<int64_t, std::unique_ptr<Setting>> settings;
  auto& setting = settings[state.range(0)];
  if (!setting) {
    setting = std::make_unique<Setting>(state.range(0));
    setting->put(1, kProfiles, "small");
  }
  const ListQuery query = queryOf(state.range(1));
  for (auto _ : state) {
    auto page = setting->store.list(query);
    if (!page) state.SkipWithError(page.error().detail.c_str());
  }
}
BENCHMARK(listPage)
    ->ArgsProduct({{kMemory, kEmbedded, kRedis}, {0, 1, 2, 3, 4}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace flamegate::control

BENCHMARK_MAIN();
