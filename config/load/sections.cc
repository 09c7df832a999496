#include "config/load/sections.h"

#include "config/load/bindings.h"

namespace flamegate::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kWorkersMax = 512;
constexpr uint32_t kConnectionsMax = 1'000'000;
// Heads have room for 200 fields; the rest is for those that the proxy adds.
constexpr uint32_t kHeadersMax = 180;
constexpr size_t kListenersMax = 64;
constexpr size_t kRoutesMax = 10'000;
constexpr size_t kClustersMax = 10'000;
constexpr size_t kEntriesMax = 1000;

constexpr std::array<Word<AccessLog::Format>, 2> kFormats = {
    {{"json", AccessLog::Format::Json}, {"text", AccessLog::Format::Text}}};
constexpr std::array<Word<AccessLog::Target>, 3> kTargets = {{{"stdout", AccessLog::Target::Stdout},
                                                              {"stderr", AccessLog::Target::Stderr},
                                                              {"none", AccessLog::Target::None}}};

void describeLimits(Visitor& v, Limits& limits) {
  const Duration min = milliseconds(1);
  const Duration max = hours(24);
  v.key("header", size(limits.header_bytes_max, kKiB, kMiB));
  v.key("headers", integer(limits.headers_max, 1, kHeadersMax));
  v.key("connections", optional<uint32_t>(limits.connections, "auto", [](uint32_t& count) {
          return integer(count, 1, kConnectionsMax);
        }));
  v.key("header_read", duration(limits.header_read, min, max));
  v.key("idle", duration(limits.idle, min, max));
  v.key("body_idle", duration(limits.body_idle, min, max));
  v.key("h2_streams", integer(limits.h2_streams, 1, 1000));
}

// One of the words, or the path of a file.
Scalar logTarget(AccessLog& log) {
  const Scalar word = choice(log.target, kTargets);
  Scalar file = filePath(log.path);
  Scalar scalar;
  scalar.type = "`stdout`, `stderr`, `none` or file";
  scalar.assign = [&log, assign_word = word.assign,
                   assign_path = file.assign](const std::string& written) -> Problem {
    log.path.clear();
    if (!assign_word(written)) return std::nullopt;
    log.target = AccessLog::Target::File;
    return assign_path(written);
  };
  scalar.text = [&log, word_text = word.text] {
    return log.target == AccessLog::Target::File ? log.path : word_text();
  };
  scalar.path = &log.path;
  return scalar;
}

void describeAccessLog(Visitor& v, AccessLog& log) {
  v.key("path", logTarget(log));
  v.key("format", choice(log.format, kFormats));
}

// `none`, or a map with the address.
void describeAdmin(Visitor& v, Admin& admin) {
  Scalar off;
  off.type = "`none`";
  off.assign = [&admin](const std::string& written) -> Problem {
    if (written != "none") return "must be `none` or a map with `address`";
    admin.address.reset();
    return std::nullopt;
  };
  off.text = [] { return std::nullopt; };
  v.scalarOrMap(off, [&admin](Visitor& keys) {
    keys.key("address", optional<Address>(admin.address, "none", listenAddress));
  });
}

void describeDns(Visitor& v, Dns& dns) {
  v.key("servers", scalarList<Address>(dns.servers, {.size_max = 8}, endpointAddress));
  v.key("ttl_min", duration(dns.ttl_min, milliseconds(100), hours(1)));
  v.key("ttl_max", duration(dns.ttl_max, milliseconds(100), hours(24)));
  v.key("timeout", duration(dns.timeout, milliseconds(10), seconds(30)));
}

void describeShutdown(Visitor& v, Shutdown& shutdown) {
  v.key("drain", duration(shutdown.drain, Duration(0), hours(1)));
}

Value routeList(Config& config) {
  const auto fresh = [&config] {
    Route route;
    route.profiling = config.profiling.policy;
    return route;
  };
  const auto describe = [&config](Visitor& element, Route& route) {
    element.map([&](Visitor& keys) { describeRoute(keys, route, config.clusters); });
  };
  return list<Route>(config.routes, {.size_max = kRoutesMax}, describe, fresh);
}

}  // namespace

void describeConfig(Visitor& v, Config& config) {
  v.key("workers", integerOrWord(config.workers, "auto", kWorkersMax));
  v.key(
      "listeners", Need::Required,
      sectionList(config.listeners, {.size_max = kListenersMax, .needed = true}, describeListener));
  v.key("clusters", sectionList(config.clusters, {.size_max = kClustersMax}, describeCluster));
  v.key("profiling", section(config.profiling, describeProfiling));
  v.key("routes", routeList(config));
  v.key("limits", section(config.limits, describeLimits));
  v.key("access_log", section(config.access_log, describeAccessLog));
  v.key("admin", [&config](Visitor& value) { describeAdmin(value, config.admin); });
  v.key("dns", section(config.dns, describeDns));
  v.key("shutdown", section(config.shutdown, describeShutdown));
  v.key("control", section(config.control, describeControl));
  v.key("store", section(config.store, describeStore));
  v.key("ingest", section(config.ingest, describeIngest));
  v.key("collect", sectionList(config.collect, {.size_max = kEntriesMax}, describeCollect));
  v.key("forward", sectionList(config.forward, {.size_max = kEntriesMax}, describeForward));
}

}  // namespace flamegate::config
