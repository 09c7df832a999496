// What is known of one profile, the questions a list may ask, and the JSON form of both sides.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/base/result.h"

namespace flamegate::control {

using Millis = std::chrono::milliseconds;
using Micros = std::chrono::microseconds;
using WallTime = std::chrono::sys_time<Millis>;  // Unix time, UTC
using WallClock = std::function<WallTime()>;
WallTime systemWallTime();

// Where a profile stands. Stored and Failed are final ("settled").
enum class ProfileState : unsigned char {
  Running,  // the request is being answered
  Waiting,  // answered; the agent's upload has not come
  Stored,   // the body can be had
  Failed,   // it never can; FailReason says why
};

enum class FailReason : unsigned char {
  NoUpload,
  Refused,
  Oversized,
  Undecodable,
  ClientGone,
  UpstreamLost,
  Store,
  ControlLost,
};

enum class Trigger : unsigned char { Query, Header, Referer, Session, Campaign, Path, Slow };

enum class ProfileMode : unsigned char { Wall, Cpu, Both };

// Request: one profiled request. Continuous: collected or ingested; absent from lists by default.
enum class ProfileKind : unsigned char { Request, Continuous };

// The names on the wire: "no-upload", "waiting", …; reading accepts exactly those.
std::string_view nameOf(ProfileState state);
std::string_view nameOf(FailReason reason);
std::string_view nameOf(Trigger trigger);
std::string_view nameOf(ProfileMode mode);
std::string_view nameOf(ProfileKind kind);
std::optional<ProfileState> findProfileState(std::string_view name);
std::optional<FailReason> findFailReason(std::string_view name);
std::optional<Trigger> findTrigger(std::string_view name);
std::optional<ProfileMode> findProfileMode(std::string_view name);
std::optional<ProfileKind> findProfileKind(std::string_view name);

inline constexpr size_t kProfileIdSize = 20;
// Whether the text is 20 characters [0-9a-z].
bool isProfileId(std::string_view id);

// Samples that were due, that were taken and that were lost.
struct Ticks {
  uint64_t expected = 0;
  uint64_t taken = 0;
  uint64_t missed = 0;
  friend bool operator==(const Ticks&, const Ticks&) = default;
};

// Where the proxy spent the request's time.
struct Phases {
  std::optional<Micros> queue;
  std::optional<Micros> connect;
  std::optional<Micros> first_byte;
  std::optional<Micros> body;
  friend bool operator==(const Phases&, const Phases&) = default;
};

// What the sampled threads were doing.
struct ThreadStates {
  std::optional<Micros> running;
  std::optional<Micros> waiting;
  std::optional<Micros> gil;
  std::optional<Micros> gc;
  friend bool operator==(const ThreadStates&, const ThreadStates&) = default;
};

// The metadata of one profile: a plain value. Unknown is an empty optional or an empty string, and
// absent from the JSON. Strings hold UTF-8; other bytes are replaced when JSON is written.
struct ProfileRecord {
  std::string id;  // see isProfileId
  ProfileKind kind = ProfileKind::Request;
  ProfileState state = ProfileState::Running;
  std::optional<FailReason> reason;  // with Failed only
  std::optional<Trigger> trigger;
  std::string method;
  std::string path;  // without query
  std::string host;  // the machine
  std::string route;
  std::string service;
  std::optional<int> status;
  std::string site;  // the request's Host
  WallTime started_at{};
  std::optional<Micros> duration;
  std::optional<Micros> upstream;
  std::optional<ProfileMode> mode;
  std::optional<Micros> interval;
  std::optional<uint64_t> samples;
  std::optional<Ticks> ticks;
  std::optional<Micros> overhead;
  std::string agent;
  std::string runtime;
  std::optional<int64_t> pid;
  std::optional<uint64_t> bytes;  // of the stored body; set by the store
  std::string campaign;
  std::string pageview;
  std::optional<Micros> cpu;
  Phases phases;
  ThreadStates states;
  std::vector<std::string> changes;  // what the proxy changed, a sentence each
  bool time_corrected = false;       // started_at is the time received: the one sent was absurd

  // The store's own; what a caller puts there is ignored.
  std::optional<WallTime> stored_at;     // when put() came first
  std::optional<WallTime> pinned_until;  // while pinned

  // Name and URL; made for one answer, never stored.
  std::vector<std::pair<std::string, std::string>> links;

  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

inline bool isSettled(ProfileState state) {
  return state == ProfileState::Stored || state == ProfileState::Failed;
}

// One JSON object without line breaks; durations as "…_ms" decimals, started_at as RFC 3339.
std::string toJson(const ProfileRecord& record);

// Malformed when it is no object, lacks a valid id, or a known key has the wrong type or an unknown
// name. Unknown keys are skipped, so that records of a newer version stay readable.
proxy::Result<ProfileRecord> recordFromJson(std::string_view json);

// "2026-03-01T12:00:00.123Z".
std::string toRfc3339(WallTime time);
// Accepts any offset and up to nanoseconds (cut to ms); years 1970 to 9999.
std::optional<WallTime> findRfc3339(std::string_view text);

enum class SortField : unsigned char { StartedAt, Duration, Samples };

// Status codes low to high inclusive: {404, 404} or {400, 499}.
struct StatusRange {
  int low = 0;
  int high = 0;
  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// Which records, in which order. All given filters must hold; an empty string filters nothing.
struct ListQuery {
  std::optional<ProfileKind> kind = ProfileKind::Request;  // nothing: both
  std::string route;
  std::string host;
  std::string service;
  std::optional<StatusRange> status;
  std::optional<ProfileState> state;
  std::optional<Trigger> trigger;
  std::string campaign;
  std::optional<Micros> min_duration;  // records without a duration are left out
  std::optional<WallTime> from;        // started_at >= from
  std::optional<WallTime> to;          // started_at < to
  std::string q;                       // part of id, method + " " + path, route, host or service;
                                       // ASCII case does not matter
  SortField sort = SortField::StartedAt;  // ties by id; a missing value sorts as the smallest
  bool descending = true;
  size_t limit = 50;   // 1 to kListLimitMax; cut to that
  std::string cursor;  // ListPage::next of the same query, or empty
};

inline constexpr size_t kListLimitMax = 500;

struct ListPage {
  std::vector<ProfileRecord> records;
  uint64_t total = 0;  // records that the filters match, on all pages
  std::string next;    // empty at the end
};

enum class GroupBy : unsigned char { Route, Host, Service };

// One line of the routes or hosts page: the records of one name that the filters match.
struct Group {
  std::string name;
  uint64_t profiles = 0;
  uint64_t stored = 0;  // of them, with a body
  WallTime latest{};
  Micros duration_sum{0};  // over those that have a duration
  Micros duration_max{0};
  friend bool operator==(const Group&, const Group&) = default;
};

}  // namespace flamegate::control
