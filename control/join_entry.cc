#include "control/join_entry.h"

#include <algorithm>

namespace flamegate::control {
namespace {

void consider(proxy::TimePoint& earliest, bool applies, proxy::TimePoint deadline) {
  if (!applies || !deadline.set()) return;
  if (!earliest.set() || deadline < earliest) earliest = deadline;
}

bool reached(proxy::TimePoint deadline, proxy::TimePoint now) {
  return deadline.set() && deadline <= now;
}

}  // namespace

ProfileState Join::Entry::state() const {
  if (!ended) return ProfileState::Running;
  if (has_body) return ProfileState::Stored;
  return failed ? ProfileState::Failed : ProfileState::Waiting;
}

bool Join::Entry::outOfTime(proxy::TimePoint now) const {
  return known && ended && !has_body && queue.empty() && reached(window_end, now);
}

std::optional<PartOutcome> Join::Entry::judge(const Part& part, proxy::TimePoint now) const {
  if (erased) return PartOutcome::Unknown;
  const auto same_name = [&](const Mark& mark) { return mark.name == part.name; };
  const auto mark = std::find_if(parts.begin(), parts.end(), same_name);
  if (mark != parts.end()) {
    return mark->hash == part.hash ? PartOutcome::Known : PartOutcome::Differs;
  }
  if (!kids.empty() && std::find(kids.begin(), kids.end(), part.kid) == kids.end()) {
    return PartOutcome::WrongKey;
  }
  if (parts.size() >= kPartsMax) return PartOutcome::TooMany;
  if (reached(window_end, now)) return PartOutcome::Closed;
  return std::nullopt;
}

proxy::TimePoint Join::Entry::nextDeadline() const {
  proxy::TimePoint earliest;
  const bool held = !known && !queue.empty();
  consider(earliest, held, hold_until);
  consider(earliest, held && !looking, look_at);
  consider(earliest, known && ended && !has_body && !failed && queue.empty(), window_end);
  consider(earliest, !ended, lost_at);
  consider(earliest, dirty && !saving, save_at);
  consider(earliest, forgettable(), forget_at);
  return earliest;
}

}  // namespace flamegate::control
