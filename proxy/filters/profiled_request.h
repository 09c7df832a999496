// What the profiling filter keeps with one exchange.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "proxy/exchange/filter.h"
#include "proxy/filters/inject/injection.h"
#include "proxy/profiling/access.h"
#include "proxy/profiling/capture.h"
#include "proxy/profiling/setup.h"
#include "proxy/profiling/trigger.h"

namespace flamegate::proxy {

// Made for the few requests that concern the profiler: asked to be profiled, under the prefix, or with a
// credential of ours.
// Owner: its exchange. Thread: the exchange's loop.
struct ProfiledRequest final : FilterState {
  // Where the request stands before it is forwarded.
  enum class Stage : uint8_t { Judge, AwaitPassword, ReadSessionBody, Forward };

  explicit ProfiledRequest(const ProfilingSetup::Policy& its_policy) : policy(its_policy) {}
  ~ProfiledRequest() override { *alive = false; }

  const ProfilingSetup::Policy& policy;
  Stage stage = Stage::Judge;
  // Whether this object still stands, for work that was given to another thread.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

  // Who the client is.
  agent::Rights rights;
  std::string holder;
  bool secure = false;
  bool password_refused = false;
  std::string origin;  // of absolute links; empty: root-relative

  // What was decided.
  bool to_control = false;
  bool show_profile = false;  // the answer becomes a redirect to the viewer
  std::string set_cookie;
  std::string spent_session;  // a request of its budget was taken for this one
  std::optional<SkipReason> skip;
  std::optional<Capture> capture;
  size_t cluster = 0;     // whose agent is asked
  int64_t sent_ms = 0;    // Unix time of the last signature
  bool forwarded = false;

  std::string session_body;

  // The badge. The tag's texts live here and in the configuration.
  std::optional<Injection> injection;
  std::string pageview;
  std::string script_path;
};

}  // namespace flamegate::proxy
