#include "config/load/bindings.h"
#include "config/load/sections.h"
#include "config/load/text_rules.h"

namespace flamegate::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint32_t kThreadsMax = 256;

constexpr std::array<Word<Store::Kind>, 3> kStoreKinds = {{{"embedded", Store::Kind::Embedded},
                                                           {"redis", Store::Kind::Redis},
                                                           {"memory", Store::Kind::Memory}}};
constexpr std::array<Word<Collect::Kind>, 3> kCollectKinds = {
    {{"pprof", Collect::Kind::Pprof},
     {"liveprofiler", Collect::Kind::Liveprofiler},
     {"nylas", Collect::Kind::Nylas}}};
constexpr std::array<Word<Forward::Kind>, 3> kForwardKinds = {
    {{"pyroscope", Forward::Kind::Pyroscope},
     {"traceway", Forward::Kind::Traceway},
     {"otlp", Forward::Kind::Otlp}}};

void describeAgents(Visitor& v, AgentListener& agents) {
  v.key("address", listenAddress(agents.address));
  v.key("tls", optionalSection(agents.tls, describeListenerTls));
}

void describeSentinel(Visitor& v, Redis& redis) {
  v.key("master", text(redis.sentinel_master, kName));
  v.key("addresses",
        scalarList<Address>(redis.sentinel_addresses, {.size_max = 32}, endpointAddress));
  v.needs("master", "addresses");
  v.needs("addresses", "master");
}

void describeRedis(Visitor& v, Redis& redis) {
  v.key("url", redisUrl(redis));
  v.key("key_prefix", text(redis.key_prefix, kKeyPrefix));
  v.key("cluster", flag(redis.cluster));
  v.key("sentinel", section(redis, describeSentinel));
  v.key("ca", optionalFilePath(redis.ca));
  v.key("timeout", duration(redis.timeout, milliseconds(1), minutes(1)));
}

void describeRetention(Visitor& v, Retention& retention) {
  v.key("age", duration(retention.age, minutes(1), kDurationMax));
  v.key("bytes", size(retention.bytes_max, kMiB, kSizeMax));
  v.key("profiles", integer(retention.profiles_max, 1, 1'000'000'000));
  v.key("pinned", flag(retention.pinned));
}

void describeIngestToken(Visitor& v, IngestToken& token) {
  v.key("token", Need::Required, secretText(token.token, kSecret));
  v.key("project", Need::Required, text(token.project, kName));
}

}  // namespace

void describeControl(Visitor& v, Control& control) {
  v.key("address", optional<Address>(control.address, "auto", listenAddress));
  v.key("agents", section(control.agents, describeAgents));
  v.key("threads", integerOrWord(control.threads, "auto", kThreadsMax));
}

void describeStore(Visitor& v, Store& store) {
  v.key("kind", choice(store.kind, kStoreKinds));
  v.key("path", filePath(store.path));
  v.key("redis", section(store.redis, describeRedis));
  v.key("retention", section(store.retention, describeRetention));
}

void describeIngest(Visitor& v, Ingest& ingest) {
  v.key("tokens", sectionList(ingest.tokens, {.size_max = 1000}, describeIngestToken));
  v.key("max_body", size(ingest.body_bytes_max, kKiB, 64 * kMiB));
}

void describeCollect(Visitor& v, Collect& collect) {
  v.key("name", Need::Required, text(collect.name, kName));
  v.key("url", Need::Required, text(collect.url, kHttpUrl));
  v.key("kind", Need::Required, choice(collect.kind, kCollectKinds));
  v.key("interval", duration(collect.interval, seconds(1), hours(24)));
  v.key("service", text(collect.service, kName));
  v.key("host", text(collect.host, kLabel));
  v.key("secret_header", text(collect.secret_header, kFieldName));
  v.key("secret", secretText(collect.secret, kSecret));
  v.needs("secret", "secret_header");
  v.needs("secret_header", "secret");
}

void describeForward(Visitor& v, Forward& forward) {
  v.key("kind", Need::Required, choice(forward.kind, kForwardKinds));
  v.key("url", Need::Required, text(forward.url, kHttpUrl));
  v.key("what", wordSet({{"continuous", &forward.continuous}, {"requests", &forward.requests}}));
}

}  // namespace flamegate::config
