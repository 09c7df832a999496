#include "control/records.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "control/on_loop.h"

namespace flamegate::control {

using proxy::Result;

Records::~Records() {
  for (auto& [id, waiter] : waiters_) executor_.cancel(waiter.timer);
}

void Records::find(const std::string& id, Found found) {
  if (const ProfileRecord* live = join_.find(id)) {
    // The store knows more of what is settled: pins, and the size of the body.
    if (!isSettled(live->state)) {
      found(*live);
      return;
    }
  }
  store_.find(id, onLoop<ProfileRecord>(executor_, [this, id, found = std::move(found)](
                                                       Result<ProfileRecord> stored) {
                const ProfileRecord* live = join_.find(id);
                // A failure, or an end, that the store has not taken yet.
                if (live != nullptr && (!stored || stored->state != live->state)) {
                  ProfileRecord newer = *live;
                  if (stored) newer.bytes = stored->bytes;
                  stored = std::move(newer);
                }
                found(std::move(stored));
              }));
}

void Records::await(const std::string& id, Millis wait, Found found) {
  if (wait <= Millis(0) || waiters_.size() >= kWaitersMax) {
    find(id, std::move(found));
    return;
  }
  const WaiterId waiter = ++last_waiter_;
  waiters_.emplace(waiter, Waiter{id, executor_.monoNow() + wait, std::move(found)});
  by_id_.emplace(id, waiter);
  check(waiter);
}

void Records::check(WaiterId waiter) {
  const auto asked = waiters_.find(waiter);
  if (asked == waiters_.end()) return;
  executor_.cancel(asked->second.timer);
  const std::string id = asked->second.id;
  find(id, [this, waiter](Result<ProfileRecord> result) {
    const auto at = waiters_.find(waiter);
    if (at == waiters_.end()) return;  // another check was faster
    const auto left = std::chrono::ceil<Millis>(at->second.deadline - executor_.monoNow());
    const bool settled = result && isSettled(result->state);
    const bool hopeless = !result && result.error().code != proxy::ErrorCode::NotFound;
    if (settled || hopeless || left <= Millis(0)) {
      finish(waiter, std::move(result));
      return;
    }
    executor_.cancel(at->second.timer);
    at->second.timer = executor_.runAfter(std::min(left, kLook), [this, waiter] { check(waiter); });
  });
}

void Records::finish(WaiterId waiter, Result<ProfileRecord> result) {
  auto node = waiters_.extract(waiter);
  Waiter& done = node.mapped();
  executor_.cancel(done.timer);
  const auto [begin, end] = by_id_.equal_range(done.id);
  by_id_.erase(std::find_if(begin, end, [&](const auto& each) { return each.second == waiter; }));
  done.found(std::move(result));
}

void Records::onRecord(const ProfileRecord& record) {
  if (!isSettled(record.state)) return;
  const auto [begin, end] = by_id_.equal_range(record.id);
  std::vector<WaiterId> woken;
  for (auto at = begin; at != end; ++at) woken.push_back(at->second);
  for (WaiterId waiter : woken) check(waiter);
}

}  // namespace flamegate::control
