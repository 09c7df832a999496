// Reads metadata where it is freshest, and waits for records to settle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "control/executor.h"
#include "control/join.h"
#include "control/store/store.h"

namespace flamegate::control {

// Owner: control's main. Thread: control's. Ends: before the join; those who still wait are not
// called.
class Records {
 public:
  using Found = std::function<void(proxy::Result<ProfileRecord>)>;

  static constexpr Millis kLook{1'000};         // for records that settle in another process
  static constexpr size_t kWaitersMax = 1'024;  // beyond: answered at once

  Records(Executor& executor, Store& store, const Join& join)
      : executor_(executor), store_(store), join_(join) {}
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  // Calls `found` once, at once or later. NotFound: no such profile.
  void find(const std::string& id, Found found);

  // Like find(), but holds back until the record is settled, also for one that has not arrived yet;
  // when the time is up, with what is known then.
  void await(const std::string& id, Millis wait, Found found);

  // A record has changed; those who wait for it are called when it is settled.
  void onRecord(const ProfileRecord& record);

  size_t waiting() const { return waiters_.size(); }

 private:
  using WaiterId = std::uint64_t;
  struct Waiter {
    std::string id;
    proxy::TimePoint deadline;
    Found found;
    Executor::TimerId timer = Executor::kNoTimer;
  };

  void check(WaiterId waiter);
  void finish(WaiterId waiter, proxy::Result<ProfileRecord> result);

  Executor& executor_;
  Store& store_;
  const Join& join_;
  WaiterId last_waiter_ = 0;
  std::unordered_map<WaiterId, Waiter> waiters_;
  std::unordered_multimap<std::string, WaiterId> by_id_;
};

}  // namespace flamegate::control
