// How many requests may be profiled at once and in a minute.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/profiling.h"
#include "proxy/base/clock.h"
#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

class Admission;

// One profiled request's place. Gives it back when it goes, unless the place has run out before.
// Owner: a capture. Thread: its holder's.
class AdmissionSlot {
 public:
  AdmissionSlot() = default;
  AdmissionSlot(std::shared_ptr<Admission> admission, uint64_t ticket)
      : admission_(std::move(admission)), ticket_(ticket) {}
  AdmissionSlot(AdmissionSlot&& other) noexcept = default;
  AdmissionSlot& operator=(AdmissionSlot&& other) noexcept;
  ~AdmissionSlot() { release(); }

  bool held() const { return admission_ != nullptr; }
  void release();

 private:
  std::shared_ptr<Admission> admission_;
  uint64_t ticket_ = 0;
};

// The places of one cluster, over all workers. Locked only for requests that ask.
// Owner: AdmissionBook, and the slots that are out. Thread: any.
class Admission {
 public:
  struct Outcome {
    AdmissionSlot slot;                 // held when admitted
    std::optional<SkipReason> refusal;  // Busy or Rate
  };

  // `self` is this object. A place runs out after `max` whether it was given back or not, so that a
  // response without end does not block others for ever.
  static Outcome admit(const std::shared_ptr<Admission>& self, std::string_view route,
                       const config::ProfileLimits& limits, Duration max, TimePoint now);

  size_t inUse(TimePoint now);

 private:
  friend class AdmissionSlot;
  struct Place {
    uint64_t ticket;
    std::string route;
    TimePoint runs_out_at;
  };

  void sweep(TimePoint now);
  void giveBack(uint64_t ticket);

  std::mutex mutex_;
  std::vector<Place> places_;
  std::deque<TimePoint> admitted_;  // within the last minute, oldest first
  uint64_t last_ticket_ = 0;
};

// The admissions of all clusters by name; they outlive reloads of the configuration.
// Owner: the process. Thread: any.
class AdmissionBook {
 public:
  // The cluster's admission, made on first use.
  std::shared_ptr<Admission> open(std::string_view cluster);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Admission>, std::less<>> admissions_;
};

}  // namespace flamegate::proxy
