// What profiling remembers between requests, whatever the configuration.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "proxy/base/thread_pool.h"
#include "proxy/profiling/admission.h"
#include "proxy/profiling/basic_auth.h"
#include "proxy/profiling/profile_sink.h"
#include "proxy/profiling/sessions.h"
#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

// What is known of control and its store at present. Thread: any.
class ControlHealth {
 public:
  enum class State : unsigned char { Up, Down, StoreDown, StoreFull };

  void set(State state);
  // Waits until control has answered once, at most so long.
  void awaitContact(Duration patience);
  State get() const { return state_.load(std::memory_order_relaxed); }
  // Why no profile could be kept now; nothing when it could.
  std::optional<SkipReason> obstacle() const;

 private:
  std::atomic<State> state_{State::Down};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Tokens that were revoked before their time. Until a first list has come every token is refused; the last
// list stands while control is away. Thread: any.
class Revocations {
 public:
  void replace(std::vector<std::string> jtis);
  bool allows(std::string_view jti) const;

 private:
  mutable std::mutex mutex_;
  bool known_ = false;
  std::unordered_set<std::string> revoked_;
};

// How far agents' clocks are from ours, by endpoint, in milliseconds. Thread: any.
class ClockCorrections {
 public:
  int64_t of(std::string_view endpoint) const;
  void set(std::string_view endpoint, int64_t correction_ms);

 private:
  static constexpr size_t kEndpointsMax = 10'000;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t, std::less<>> corrections_;
};

// Counted for the metrics. Thread: any; touched for profiled requests alone.
struct ProfilingCounters {
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> announced{0};
  std::array<std::atomic<uint64_t>, 15> skipped{};  // by SkipReason
  std::atomic<uint64_t> badges{0};
};

// Owner: the process. Thread: any.
struct ProfilingRuntime {
  explicit ProfilingRuntime(ThreadPool& its_pool) : pool(its_pool) {}

  ProfileSink sink;
  ControlHealth control;
  Revocations revocations;
  ClockCorrections clocks;
  AdmissionBook admissions;
  SessionTable sessions;
  PasswordCache passwords;
  ProfilingCounters counters;
  ThreadPool& pool;  // for password hashes
};

}  // namespace flamegate::proxy
