// The lines of all profiles in memory: lists, groups and the order of eviction come from here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/store/record.h"
#include "control/store/summary.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// What has outlived its time: records put at or before `stored_at` that no pin holds beyond `now`.
struct Cutoff {
  WallTime stored_at;
  WallTime now;

  bool expired(WallTime stored, const std::optional<WallTime>& pinned_until) const {
    return stored <= stored_at && (!pinned_until || *pinned_until <= now);
  }
};

// Summaries by id, in order of arrival, about 0.5 KB each. Every filter is one pass over all of
// them (a few milliseconds for 100,000), so that any combination costs the same and totals are
// exact; the media stay simple and agree on what a filter means. Owner: ProfileKeeper. Thread: the
// store's.
class RecordIndex {
 public:
  struct Page {
    std::vector<std::string> ids;
    uint64_t total = 0;
    std::string next;
  };

  // A new id becomes the youngest; a known one keeps its place.
  void put(Summary summary);
  void erase(std::string_view id);
  void clear();

  bool contains(std::string_view id) const { return slots_.contains(id); }
  uint64_t size() const { return slots_.size(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t pinned() const { return slots_.size() - evictable_.size(); }
  std::optional<WallTime> findOldest() const;

  // Without what has expired. Malformed: a cursor that this query's order never gave out.
  proxy::Result<Page> list(const ListQuery& query, const Cutoff& cutoff) const;
  std::vector<Group> groups(GroupBy by, const ListQuery& filters, size_t limit,
                            const Cutoff& cutoff) const;

  std::vector<std::string> findExpired(const Cutoff& cutoff, size_t limit) const;
  // The one that came first among those without a pin.
  std::optional<std::string> findFirstUnpinned() const;
  // Pinned ones whose pin ends before `time`.
  std::vector<std::string> findPinnedUntilBefore(WallTime time, size_t limit) const;
  // Ids of those that `wanted` says yes to.
  std::vector<std::string> findIf(const std::function<bool(const Summary&)>& wanted,
                                  size_t limit) const;

 private:
  struct Entry {
    Summary summary;     // without method and path, which only the search text needs
    std::string search;  // what ListQuery::q is looked for in, in lower case
    uint64_t arrival = 0;
    bool used = false;
  };
  class Matcher;
  struct Position;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  size_t takeSlot(const std::string& id);
  void account(const Entry& entry, size_t slot);
  void discount(const Entry& entry, size_t slot);

  std::vector<Entry> entries_;
  std::vector<size_t> free_slots_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> slots_;
  std::set<std::pair<uint64_t, size_t>> evictable_;  // arrival and slot of those without a pin
  uint64_t next_arrival_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace flamegate::control
