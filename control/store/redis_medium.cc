#include "control/store/redis_medium.h"

#include <algorithm>

#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Retry;

// Ids per command when the index is read.
constexpr size_t kRowsStep = 1000;
// Lines that are read at most; more are not ours.
constexpr uint64_t kRowsMax = 2'000'000;
// A record that others change at every attempt, or a connection that breaks with each, is given up.
constexpr int kWriteAttempts = 16;
constexpr int kResetsMax = 2;
// Erased ids that are remembered, and for how long, for processes that have not noticed yet.
constexpr std::string_view kGoneMax = "10000";
constexpr std::string_view kGoneTtlMillis = "3600000";

// Shared by the scripts: the next version, and a TTL that is only ever made longer.
#define FLAMEGATE_LUA_COMMON                                           \
  "local function latest(key)"                                         \
  "  local top = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')"     \
  "  return tonumber(top[2] or 0) end "                                \
  "local function next_version()"                                      \
  "  local now = redis.call('TIME')"                                   \
  "  return string.format('%.0f', math.max(now[1] * 1000000 + now[2]," \
  "    latest(KEYS[2]) + 1, latest(KEYS[3]) + 1)) end "                \
  "local function live(key, ttl)"                                      \
  "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end end "

// KEYS rows changes gone; ARGV id, row, TTL in ms.
constexpr std::string_view kPutScript = FLAMEGATE_LUA_COMMON
    "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) "
    "redis.call('ZADD', KEYS[2], next_version(), ARGV[1]) "
    "live(KEYS[1], ARGV[3]) live(KEYS[2], ARGV[3])";

// KEYS rows changes gone; ARGV number of ids to remember, TTL of that, ids.
constexpr std::string_view kEraseScript = FLAMEGATE_LUA_COMMON
    "local version = next_version() "
    "for i = 3, #ARGV do"
    "  redis.call('HDEL', KEYS[1], ARGV[i]) redis.call('ZREM', KEYS[2], ARGV[i])"
    "  redis.call('ZADD', KEYS[3], version, ARGV[i]) end "
    "redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -ARGV[1] - 1) "
    "live(KEYS[3], ARGV[2])";

// KEYS revoked; ARGV jti, until, now, TTL.
constexpr std::string_view kRevokeScript =
    "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3]) "
    "redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) "
    "if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then"
    "  redis.call('PEXPIRE', KEYS[1], ARGV[4]) end";

#undef FLAMEGATE_LUA_COMMON

std::string decimal(WallTime time) { return std::to_string(time.time_since_epoch().count()); }

auto wrongKind() { return proxy::fail(redisError(RespValue{})); }

// To callers a broken conversation is a server that is away.
proxy::Error asUnavailable(proxy::Error error) {
  if (error.code == ErrorCode::Malformed || error.code == ErrorCode::Reset) {
    error.code = ErrorCode::Unavailable;
  }
  return error;
}

// The first error, also within a transaction's result.
const RespValue* findError(const std::vector<RespValue>& replies) {
  for (const RespValue& reply : replies) {
    if (reply.isError()) return &reply;
    if (const RespValue* inner = findError(reply.elements)) return inner;
  }
  return nullptr;
}

std::optional<std::string> takeText(RespValue& reply) {
  if (reply.kind != RespValue::Kind::String) return std::nullopt;
  return std::move(reply.text);
}

// Members of "member score member score …"; `latest` becomes the last score.
std::vector<std::string> takeMembers(RespValue& reply, std::string& latest) {
  std::vector<std::string> out;
  for (size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    out.push_back(std::move(reply.elements[i].text));
    latest = std::move(reply.elements[i + 1].text);
  }
  return out;
}

}  // namespace

RedisMedium::RedisMedium(const config::Redis& config)
    : prefix_(config.key_prefix), connection_(config) {}

std::string RedisMedium::profileKey(const std::string& id, std::string_view part) const {
  return prefix_ + "{" + id + "}:" + std::string(part);
}

std::string RedisMedium::indexKey(std::string_view part) const {
  return prefix_ + "{index}:" + std::string(part);
}

// Commands of which none may be answered with an error.
proxy::Result<std::vector<RespValue>> RedisMedium::call(const RespCommands& commands) {
  auto replies = connection_.call(commands);
  if (!replies) return proxy::fail(asUnavailable(std::move(replies.error())));
  if (const RespValue* error = findError(*replies)) return proxy::fail(redisError(*error));
  return replies;
}

proxy::Result<> RedisMedium::open(RecordIndex& index, const Cutoff&, bool rebuild) {
  if (!rebuild) return {};
  index.clear();
  seen_ = Seen{};
  return {};
}

// Each write is a transaction of its own.
proxy::Result<> RedisMedium::begin() { return {}; }
proxy::Result<> RedisMedium::commit() { return {}; }

proxy::Result<> RedisMedium::modify(const std::string& id, const Modification& modification) {
  int resets = 0;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    auto document = watchDocument(id);
    if (!document) return proxy::fail(std::move(document.error()));
    auto profile =
        modification(*document ? std::optional<std::string_view>(**document) : std::nullopt);
    if (!profile) {
      RespCommands unwatch;
      unwatch.add({"UNWATCH"});
      static_cast<void>(call(unwatch));  // a watch that stays costs one attempt at most
      return proxy::fail(std::move(profile.error()));
    }
    auto written = write(*profile, /*is_new=*/!*document);
    if (written && *written == Written::Yes) return {};
    if (written) continue;
    if (written.error().code != ErrorCode::Reset || ++resets == kResetsMax) {
      return proxy::fail(asUnavailable(std::move(written.error())));
    }
  }
  return proxy::fail(ErrorCode::Conflict, ErrorSource::Store, "others keep changing profile " + id,
                     Retry::Yes);
}

proxy::Result<std::optional<std::string>> RedisMedium::watchDocument(const std::string& id) {
  const std::string key = profileKey(id, "meta");
  RespCommands commands;
  commands.add({"WATCH", key});
  commands.add({"GET", key});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  return takeText((*replies)[1]);
}

// All keys in one transaction. (On a cluster the index, whose keys lie elsewhere, would follow in a
// second one.)
proxy::Result<RedisMedium::Written> RedisMedium::write(const StoredProfile& profile, bool is_new) {
  const std::string ttl = std::to_string(profile.ttl.count());
  const std::string row = encodeSummary(profile.summary);
  RespCommands commands;
  commands.add({"MULTI"});
  commands.add({"SET", profileKey(profile.id, "meta"), profile.document, "PX", ttl});
  if (profile.body) {
    commands.add({"SET", profileKey(profile.id, "pprof"), *profile.body, "PX", ttl});
  } else {
    commands.add({"PEXPIRE", profileKey(profile.id, "pprof"), ttl});
  }
  commands.add({"EVAL", kPutScript, "3", indexKey("rows"), indexKey("changes"), indexKey("gone"),
                profile.id, row, ttl});
  commands.add({"EXEC"});
  auto replies = connection_.call(commands, RedisConnection::Link::Same);
  if (!replies) return proxy::fail(std::move(replies.error()));
  // The reason stands with the command that was refused; EXEC itself then says EXECABORT only.
  if (const RespValue* error = findError(*replies)) {
    const proxy::Error failure = redisError(*error);
    const bool executed = replies->back().kind == RespValue::Kind::Array;
    if (executed && is_new) static_cast<void>(erase({&profile.id, 1}));
    return proxy::fail(failure);
  }
  return replies->back().isNil() ? Written::Conflict : Written::Yes;
}

proxy::Result<> RedisMedium::erase(std::span<const std::string> ids) {
  RespCommands commands;
  std::vector<std::string_view> script = {"EVAL", kEraseScript, "3"};
  const std::string keys[] = {indexKey("rows"), indexKey("changes"), indexKey("gone")};
  script.insert(script.end(), std::begin(keys), std::end(keys));
  script.insert(script.end(), {kGoneMax, kGoneTtlMillis});
  for (const std::string& id : ids) {
    commands.add({"DEL", profileKey(id, "meta"), profileKey(id, "pprof")});
    script.push_back(id);
  }
  commands.add(script);
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  return {};
}

proxy::Result<std::vector<std::optional<std::string>>> RedisMedium::documents(
    std::span<const std::string> ids) {
  std::vector<std::optional<std::string>> out;
  if (ids.empty()) return out;
  RespCommands commands;
  for (const std::string& id : ids) commands.add({"GET", profileKey(id, "meta")});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  for (RespValue& reply : *replies) out.push_back(takeText(reply));
  return out;
}

proxy::Result<std::optional<std::string>> RedisMedium::body(const std::string& id) {
  RespCommands commands;
  commands.add({"GET", profileKey(id, "pprof")});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  return takeText(replies->front());
}

// A count that differs from the server's means that something was missed (the server was emptied,
// its clock stepped back, too many were erased): then all is read again.
proxy::Result<> RedisMedium::refresh(RecordIndex& index) {
  auto lines = catchUp(index);
  if (!lines) return proxy::fail(std::move(lines.error()));
  const auto gap = [&index, &lines] {
    return static_cast<int64_t>(*lines) - static_cast<int64_t>(index.size());
  };
  if (gap() == known_gap_) return {};
  index.clear();
  seen_ = Seen{};
  lines = catchUp(index);
  if (!lines) return proxy::fail(std::move(lines.error()));
  known_gap_ = gap();
  return {};
}

// Returns the number of lines on the server.
proxy::Result<uint64_t> RedisMedium::catchUp(RecordIndex& index) {
  const std::string step = std::to_string(kRowsStep);
  for (;;) {
    RespCommands commands;
    commands.add({"ZRANGEBYSCORE", indexKey("gone"), "(" + seen_.gone, "+inf", "WITHSCORES"});
    commands.add({"ZRANGEBYSCORE", indexKey("changes"), "(" + seen_.changes, "+inf", "WITHSCORES",
                  "LIMIT", "0", step});
    commands.add({"ZCARD", indexKey("changes")});
    auto replies = call(commands);
    if (!replies) return proxy::fail(std::move(replies.error()));
    // In this order: an id that was erased and put again is among both.
    for (const std::string& id : takeMembers((*replies)[0], seen_.gone)) index.erase(id);
    const auto changed = takeMembers((*replies)[1], seen_.changes);
    if (auto fetched = fetchRows(index, changed); !fetched) {
      return proxy::fail(std::move(fetched.error()));
    }
    if (changed.size() < kRowsStep || index.size() >= kRowsMax) {
      return static_cast<uint64_t>(std::max<int64_t>(0, (*replies)[2].integer));
    }
  }
}

proxy::Result<> RedisMedium::fetchRows(RecordIndex& index, const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  const std::string key = indexKey("rows");
  std::vector<std::string_view> arguments = {"HMGET", key};
  arguments.insert(arguments.end(), ids.begin(), ids.end());
  RespCommands commands;
  commands.add(arguments);
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  std::vector<RespValue>& rows = replies->front().elements;
  if (rows.size() != ids.size()) return wrongKind();
  std::vector<Summary> found;
  for (size_t i = 0; i < ids.size(); ++i) {
    auto summary = findSummary(rows[i].text);
    if (summary && summary->id == ids[i]) {
      found.push_back(std::move(*summary));
    } else {
      index.erase(ids[i]);
    }
  }
  // Eviction goes by arrival, and a change must not make an old profile young.
  std::sort(found.begin(), found.end(),
            [](const Summary& a, const Summary& b) { return a.stored_at < b.stored_at; });
  for (Summary& summary : found) index.put(std::move(summary));
  return {};
}

proxy::Result<> RedisMedium::revoke(const RevokedToken& token, WallTime now) {
  const Millis ttl = std::max(token.until - now, Millis(1));
  RespCommands commands;
  commands.add({"EVAL", kRevokeScript, "1", indexKey("revoked"), token.jti, decimal(token.until),
                decimal(now), std::to_string(ttl.count())});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  return {};
}

proxy::Result<std::vector<RevokedToken>> RedisMedium::revoked(WallTime now) {
  RespCommands commands;
  commands.add({"ZRANGEBYSCORE", indexKey("revoked"), "(" + decimal(now), "+inf", "WITHSCORES"});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  std::vector<RevokedToken> out;
  std::vector<RespValue>& elements = replies->front().elements;
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    const auto until = std::strtoll(elements[i + 1].text.c_str(), nullptr, 10);
    out.push_back({std::move(elements[i].text), WallTime(Millis(until))});
  }
  return out;
}

proxy::Result<> RedisMedium::probe() {
  RespCommands commands;
  commands.add({"SET", indexKey("probe"), "1", "PX", "1000"});
  auto replies = call(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  return {};
}

proxy::Result<bool> RedisMedium::tidy(const Cutoff&) { return false; }

}  // namespace flamegate::control
