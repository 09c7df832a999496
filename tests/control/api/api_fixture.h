// All of control but its sockets: a fake clock, the real store in memory, a pool of one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/api/agent_service.h"
#include "control/api/api_service.h"
#include "control/api/resources.h"
#include "control/api/services.h"
#include "control/assembly.h"
#include "control/profiles/builder.h"
#include "control/profiles/pprof.h"
#include "control/store/create_store.h"
#include "tests/control/api/fake_executor.h"

namespace flamegate::control {

inline constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

class ApiFixture : public testing::Test, private JoinEvents {
 protected:
  using Pairs = std::vector<QueryPair>;

  ~ApiFixture() override { pool_.reset(); }

  static std::unique_ptr<Store> createMemoryStore() {
    config::Store config;
    config.kind = config::Store::Kind::Memory;
    StoreTuning tuning;
    tuning.clock = [] { return WallTime(Millis(1'800'000'000'000)); };
    tuning.queue.sweep_every = Millis(0);
    return std::move(*createStore(config, tuning));
  }

  void onRecord(const ProfileRecord& record) override {
    records_.onRecord(record);
    pageviews_.onRecord(record);
  }

  // ---- The API ----------------------------------------------------------------------------------

  static ApiRequest request(proxy::Method method, std::vector<std::string> path, Pairs query = {}) {
    ApiRequest out;
    out.method = method;
    out.path = std::move(path);
    out.query = std::move(query);
    out.caller.allow = agent::Rights::all();
    out.caller.site = "shop.example";
    return out;
  }
  static ApiRequest get(std::vector<std::string> path, Pairs query = {}) {
    path.insert(path.begin(), {"api", "v1"});
    return request(proxy::Method::Get, std::move(path), std::move(query));
  }

  // The answer that is expected without the clock moving.
  ApiResponse answer(ApiRequest call) {
    const std::shared_ptr<std::optional<ApiResponse>> response = ask(std::move(call));
    EXPECT_TRUE(executor_.runUntil([&] { return response->has_value(); }));
    return response->has_value() ? std::move(**response)
                                 : ApiResponse{.status = 0, .headers = {}, .body = {}};
  }
  // An answer that may come later.
  std::shared_ptr<std::optional<ApiResponse>> ask(ApiRequest call) {
    auto response = std::make_shared<std::optional<ApiResponse>>();
    router_.dispatch(std::move(call), [response](ApiResponse given) {
      EXPECT_FALSE(response->has_value());
      *response = std::move(given);
    });
    return response;
  }

  // ---- Profiles ---------------------------------------------------------------------------------

  void settle() {
    for (int round = 0; round < 4; ++round) {
      bool reached = false;
      store_->stats(
          [&](const proxy::Result<StoreStats>&) { executor_.post([&] { reached = true; }); });
      ASSERT_TRUE(executor_.runUntil([&] { return reached; }));
    }
  }
  void advance(Millis by) {
    executor_.advance(by, [this] { settle(); });
    settle();
  }

  agent::ProfileId newId() {
    return agent::ProfileId::create(executor_.wallNow().time_since_epoch().count(),
                                    {++last_random_, 7});
  }

  static Profile profile(std::string_view leaf = "render") {
    ProfileBuilder builder;
    const size_t samples = builder.valueColumn("samples", "count");
    const size_t wall = builder.valueColumn("wall", "nanoseconds");
    const size_t cpu = builder.valueColumn("cpu", "nanoseconds");
    const FrameId stack[] = {builder.frame(builder.function("handler", "app.py", 8), 12),
                             builder.frame(builder.function(leaf, "app.py", 20), 22)};
    const NodeId node = builder.stack(stack);
    std::vector<int64_t> values(3);
    values[samples] = 1;
    values[wall] = 1'000'000;
    values[cpu] = 400'000;
    builder.addSample({.node = node, .state = State::Running, .timestamp_ns = 1'000}, values);
    builder.addSample({.node = node, .state = State::Gc, .timestamp_ns = 1'001'000}, values);
    return std::move(*builder.take());
  }

  ProfileRecord record(const agent::ProfileId& id, ProfileState state = ProfileState::Stored) {
    ProfileRecord out;
    out.id = id.text();
    out.state = state;
    out.method = "GET";
    out.path = "/cart";
    out.route = "GET /cart";
    out.host = "web-1";
    out.service = "shop";
    out.status = 200;
    out.started_at = executor_.wallNow();
    out.duration = Micros(1'500);
    return out;
  }
  void put(ProfileRecord what, std::optional<std::string> body) {
    bool done = false;
    store_->put(std::move(what), std::move(body), [&](const proxy::Result<>& stored) {
      EXPECT_TRUE(stored);
      executor_.post([&] { done = true; });
    });
    ASSERT_TRUE(executor_.runUntil([&] { return done; }));
  }
  std::string putStored() {
    const auto id = newId();
    put(record(id), encodePprof(profile()));
    return std::string(id.text());
  }

  agent::CaptureRecord capture(const agent::ProfileId& id, agent::CaptureRecord::Phase phase) {
    agent::CaptureRecord out;
    out.phase = phase;
    out.id = id;
    out.method = "GET";
    out.path = "/cart";
    out.service = "shop";
    out.pageview = "pv1";
    out.kids = {agent::AgentKeys::derive(kSecret).kid};
    out.started_at_ms = static_cast<uint64_t>(executor_.wallNow().time_since_epoch().count());
    out.status = 200;
    out.duration_us = 1'500;
    return out;
  }

  class Silent final : public JoinEvents {
    void onRecord(const ProfileRecord&) override {}
  };

  Silent silent_;
  FakeExecutor executor_;
  std::unique_ptr<Store> store_ = createMemoryStore();
  std::unique_ptr<proxy::ThreadPool> pool_ = std::make_unique<proxy::ThreadPool>(1, 64);
  PoolAssembler assembler_{executor_, *pool_};
  const AgentKeySet keys_{{agent::KeyRing(agent::AgentKeys::derive(kSecret))}, {{"shop", 0}}};
  Join join_{executor_, *store_, assembler_, *this,
             [this](const std::string& service) { return keys_.kidsOf(service); }};
  Records records_{executor_, *store_, join_};
  Pageviews pageviews_{executor_.wallNow()};
  AgentsSeen agents_;
  AgentService agent_service_{executor_, *pool_, join_, agents_, keys_};
  ApiServices services_{executor_,      *store_,
                        *pool_,         join_,
                        records_,       pageviews_,
                        agents_,        agent_service_,
                        "/__flamegate", "https://public.example",
                        "1.2.3",        ui::consolePage("/__flamegate")};
  Router router_ = apiRouter(services_);
  uint64_t last_random_ = 0;
};

}  // namespace flamegate::control
