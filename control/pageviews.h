// Which profiles belong to which view of a page, in the order in which they changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/executor.h"
#include "control/store/record.h"

namespace flamegate::control {

// Remembers the latest changes of captures that this process has heard of; older ones are dropped.
// Owner: control's main. Thread: control's.
class Pageviews {
 public:
  static constexpr size_t kRecordsMax = 4'096;

  struct Page {
    std::vector<ProfileRecord> records;  // as they were at their latest change, oldest change first
    std::uint64_t sequence = 0;          // to be given as `after` the next time
  };

  // Sequence numbers go on from Unix time, so that a client may keep its own over a restart.
  explicit Pageviews(WallTime now)
      : sequence_(static_cast<std::uint64_t>(now.time_since_epoch().count())) {}

  void onRecord(const ProfileRecord& record);
  Page changedAfter(std::string_view pageview, std::uint64_t after) const;

 private:
  std::uint64_t sequence_;
  std::map<std::uint64_t, ProfileRecord> by_sequence_;
  std::unordered_map<std::string, std::uint64_t> by_id_;
};

}  // namespace flamegate::control
