#include "proxy/profiling/admission.h"

#include <algorithm>
#include <utility>

namespace flamegate::proxy {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);

}  // namespace

AdmissionSlot& AdmissionSlot::operator=(AdmissionSlot&& other) noexcept {
  if (this != &other) {
    release();
    admission_ = std::move(other.admission_);
    ticket_ = other.ticket_;
  }
  return *this;
}

void AdmissionSlot::release() {
  if (admission_) admission_->giveBack(ticket_);
  admission_.reset();
}

Admission::Outcome Admission::admit(const std::shared_ptr<Admission>& self, std::string_view route,
                                    const config::ProfileLimits& limits, Duration max,
                                    TimePoint now) {
  const std::lock_guard lock(self->mutex_);
  self->sweep(now);
  const auto of_route = static_cast<size_t>(
      std::count_if(self->places_.begin(), self->places_.end(),
                    [route](const Place& place) { return place.route == route; }));
  if (self->places_.size() >= limits.concurrent || of_route >= limits.per_route) {
    return {{}, SkipReason::Busy};
  }
  if (self->admitted_.size() >= limits.per_minute) return {{}, SkipReason::Rate};
  self->admitted_.push_back(now);
  self->places_.push_back({++self->last_ticket_, std::string(route), now + max});
  return {AdmissionSlot(self, self->last_ticket_), std::nullopt};
}

size_t Admission::inUse(TimePoint now) {
  const std::lock_guard lock(mutex_);
  sweep(now);
  return places_.size();
}

void Admission::sweep(TimePoint now) {
  std::erase_if(places_, [now](const Place& place) { return place.runs_out_at <= now; });
  while (!admitted_.empty() && now - admitted_.front() >= kMinute) admitted_.pop_front();
}

void Admission::giveBack(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  std::erase_if(places_, [ticket](const Place& place) { return place.ticket == ticket; });
}

std::shared_ptr<Admission> AdmissionBook::open(std::string_view cluster) {
  const std::lock_guard lock(mutex_);
  const auto known = admissions_.find(cluster);
  if (known != admissions_.end()) return known->second;
  return admissions_.emplace(cluster, std::make_shared<Admission>()).first->second;
}

}  // namespace flamegate::proxy
