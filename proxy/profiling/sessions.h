// Sticky sessions: for some minutes all requests of a browser are profiled.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent-protocol/token/rights.h"
#include "proxy/base/clock.h"
#include "proxy/profiling/trigger.h"

namespace flamegate::proxy {

// What a token gives to the session that it opened.
struct SessionGrant {
  agent::Rights rights;
  std::string holder;
  std::string jti;           // the session ends with the token's revocation
  std::string host;          // in lower case; empty: any
  int64_t expires_at_s = 0;  // Unix time
};

// A session as it is at one moment.
struct SessionView {
  SessionState state = SessionState::None;
  std::optional<SessionGrant> grant;  // absent: the client's own rights count
};

// All sessions of the process. The cookie proves that an id is ours; what it may do is kept here,
// so that DELETE ends a session and its budget is exact over all workers. Owner: the process.
// Thread: any.
class SessionTable {
 public:
  static constexpr size_t kSessionsMax = 10'000;

  // The id of a new session. When the table is full the one that would end first makes room.
  std::string open(Duration lifetime, uint32_t requests, std::optional<SessionGrant> grant,
                   TimePoint now);

  SessionView find(std::string_view id, TimePoint now) const;

  // Takes one request from the budget; false when there is none left or the session has ended.
  bool spend(std::string_view id, TimePoint now);
  // Gives one back that was not profiled after all.
  void refund(std::string_view id);

  void end(std::string_view id);
  size_t size() const;

 private:
  struct Session {
    TimePoint ends_at;
    uint32_t left;
    std::optional<SessionGrant> grant;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Sessions = std::unordered_map<std::string, Session, Hash, std::equal_to<>>;

  void makeRoom(TimePoint now);

  mutable std::mutex mutex_;
  Sessions sessions_;
};

}  // namespace flamegate::proxy
