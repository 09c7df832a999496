#include "proxy/profiling/runtime.h"

namespace flamegate::proxy {

void ControlHealth::set(State state) {
  if (state_.exchange(state, std::memory_order_relaxed) == state) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void ControlHealth::awaitContact(Duration patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return get() != State::Down; });
}

std::optional<SkipReason> ControlHealth::obstacle() const {
  switch (get()) {
    case State::Up: return std::nullopt;
    case State::Down: return SkipReason::ControlDown;
    case State::StoreDown: return SkipReason::StoreDown;
    case State::StoreFull: return SkipReason::StoreFull;
  }
  return std::nullopt;
}

void Revocations::replace(std::vector<std::string> jtis) {
  std::unordered_set<std::string> fresh(std::make_move_iterator(jtis.begin()),
                                        std::make_move_iterator(jtis.end()));
  std::lock_guard lock(mutex_);
  known_ = true;
  revoked_.swap(fresh);
}

bool Revocations::allows(std::string_view jti) const {
  std::lock_guard lock(mutex_);
  return known_ && !revoked_.contains(std::string(jti));
}

int64_t ClockCorrections::of(std::string_view endpoint) const {
  std::lock_guard lock(mutex_);
  const auto found = corrections_.find(endpoint);
  return found == corrections_.end() ? 0 : found->second;
}

void ClockCorrections::set(std::string_view endpoint, int64_t correction_ms) {
  std::lock_guard lock(mutex_);
  const auto found = corrections_.find(endpoint);
  if (found != corrections_.end()) {
    found->second = correction_ms;
  } else if (correction_ms != 0 && corrections_.size() < kEndpointsMax) {
    corrections_.emplace(endpoint, correction_ms);
  }
}

}  // namespace flamegate::proxy
