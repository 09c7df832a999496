// Whether a request asks to be profiled: pure decisions over its head.
//
// The order of use: MarkScanner says whether to look at all; findMarks() reads what the client
// wrote; access.h says what the client may do; decide() puts both together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/keys.h"
#include "agent-protocol/token/rights.h"
#include "agent-protocol/wire/capture_record.h"
#include "config/schema/profiling.h"
#include "proxy/http/head.h"
#include "proxy/profiling/query.h"
#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

// The actions of a path segment `/++profile++ACTIONS`.
struct PathActions {
  bool show = false;
  bool callgrind = false;
  bool pstats = false;
  bool help = false;  // no action, or an unknown one: nothing else counts
  friend bool operator==(const PathActions&, const PathActions&) = default;
};

// What findMarks() needs beside the head.
struct TriggerContext {
  const config::Trigger& trigger;
  std::string_view prefix;     // of our own pages, as "/__flamegate"
  std::optional<bool> secure;  // whether the client speaks https; absent: not known
  const agent::SessionKeyRing& keys;
};

// Everything in a head that concerns the profiler, whoever may have written it. Views point into
// the head.
struct Marks {
  QueryMarks query;
  bool header = false;                     // X-Rack-Mini-Profiler
  std::optional<OptionOverrides> referer;  // a page of the same origin was asked to be profiled
  std::string_view session_id;             // of a session cookie that we signed; empty: none
  bool off = false;                        // the off cookie
  std::optional<PathActions> path;
  bool upgrade = false;  // a protocol change or CONNECT: never profiled
};

Marks findMarks(const RequestHead& head, const TriggerContext& context);

// The session that a session id names, as the session table knows it.
enum class SessionState : unsigned char { None, Live, Exhausted };

// What becomes of a request.
struct Decision {
  enum class Action : unsigned char {
    Pass,     // not profiled because of the client; a campaign may still want it unless `barred`
    Help,     // a local page
    Profile,  // to be admitted
  };
  Action action = Action::Pass;
  agent::TriggerKind kind = agent::TriggerKind::Query;  // with Profile, and with a skip reason
  OptionOverrides options;                              // with Profile
  std::optional<PathActions> path;  // a path segment is there and has to leave the path
  std::optional<SkipReason> skip;   // the client asked, and this is why it gets no profile
  bool show_profile = false;        // pp=flamegraph: the answer becomes a 303 to the viewer
  bool barred = false;              // pp=skip: not even by a campaign
  bool strip = false;               // the trigger's pairs leave the query
  std::optional<bool> off_cookie;   // set (true) or clear (false) the off cookie
};

// Without the right to trigger nothing is done at all.
Decision decide(const Marks& marks, agent::Rights rights, SessionState session, bool strip);

// The target that the application and the router see: without the path segment (when
// `decision.path`), without the trigger's pairs (when `decision.strip`) and without tokens of ours.
// Nothing when it stays as it is.
std::optional<std::string> cleanTarget(std::string_view target, const Decision& decision,
                                       const config::Trigger& trigger,
                                       const agent::SessionKeyRing& keys);

// Whether an absolute http(s) URL without userinfo is of the origin `authority`; its scheme must be
// ours where that is known. Gives its path and query.
struct UrlTail {
  std::string_view path;
  std::string_view query;
};
std::optional<UrlTail> ofSameOrigin(std::string_view url, std::string_view authority,
                                    std::optional<bool> secure);

// Whether the path is the prefix or lies below it.
bool isUnder(std::string_view path, std::string_view prefix);

// CORS preflight (Fetch §4.8).
bool isPreflight(const RequestHead& head);

}  // namespace flamegate::proxy
