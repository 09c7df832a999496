#include "control/pageviews.h"

namespace flamegate::control {

void Pageviews::onRecord(const ProfileRecord& record) {
  if (record.pageview.empty()) return;
  const auto [at, added] = by_id_.try_emplace(record.id, 0);
  if (!added) by_sequence_.erase(at->second);
  at->second = ++sequence_;
  by_sequence_.emplace(sequence_, record);
  if (by_sequence_.size() > kRecordsMax) {
    const auto oldest = by_sequence_.begin();
    by_id_.erase(oldest->second.id);
    by_sequence_.erase(oldest);
  }
}

Pageviews::Page Pageviews::changedAfter(std::string_view pageview, std::uint64_t after) const {
  Page page;
  page.sequence = sequence_;
  for (auto at = by_sequence_.upper_bound(after); at != by_sequence_.end(); ++at) {
    if (at->second.pageview == pageview) page.records.push_back(at->second);
  }
  return page;
}

}  // namespace flamegate::control
