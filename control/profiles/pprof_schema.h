// What pprof_read knows about the format's messages: names, ids, the labels with a meaning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "control/profiles/model.h"
#include "control/profiles/wire.h"

namespace flamegate::control {

inline constexpr std::string_view kProfileFields[] = {"",
                                                      "sample_type",
                                                      "sample",
                                                      "mapping",
                                                      "location",
                                                      "function",
                                                      "string_table",
                                                      "drop_frames",
                                                      "keep_frames",
                                                      "time_nanos",
                                                      "duration_nanos",
                                                      "period_type",
                                                      "period",
                                                      "comment",
                                                      "default_sample_type"};
inline constexpr std::string_view kValueTypeFields[] = {"", "type", "unit"};
inline constexpr std::string_view kSampleFields[] = {"", "location_id", "value", "label"};
inline constexpr std::string_view kLabelFields[] = {"", "key", "str", "num", "num_unit"};
inline constexpr std::string_view kMappingFields[] = {
    "", "id", "memory_start", "memory_limit", "file_offset", "filename", "build_id"};
inline constexpr std::string_view kLocationFields[] = {"",        "id",   "mapping_id",
                                                       "address", "line", "is_folded"};
inline constexpr std::string_view kLineFields[] = {"", "function_id", "line", "column"};
inline constexpr std::string_view kFunctionFields[] = {
    "", "id", "name", "system_name", "filename", "start_line"};

inline constexpr MessageNames kProfile{"Profile", kProfileFields};
inline constexpr MessageNames kValueType{"ValueType", kValueTypeFields};
inline constexpr MessageNames kSample{"Sample", kSampleFields};
inline constexpr MessageNames kLabel{"Label", kLabelFields};
inline constexpr MessageNames kMapping{"Mapping", kMappingFields};
inline constexpr MessageNames kLocation{"Location", kLocationFields};
inline constexpr MessageNames kLine{"Line", kLineFields};
inline constexpr MessageNames kFunction{"Function", kFunctionFields};

// From the ids that a file chose to indices. Ids are nearly always 1, 2, 3, …; those are found in a
// table, all others by binary search, so no choice of ids costs more than that.
class IdMap {
 public:
  void add(uint64_t id) { ids_.push_back({id, static_cast<uint32_t>(ids_.size())}); }

  // Nothing, or the index of an entry whose id is an earlier entry's too.
  std::optional<uint32_t> finish() {
    std::ranges::sort(ids_);
    const auto same = std::ranges::adjacent_find(ids_, {}, &Entry::first);
    if (same != ids_.end()) return std::next(same)->second;
    dense_.assign(std::min<uint64_t>(ids_.empty() ? 0 : ids_.back().first + 1, ids_.size() * 2),
                  kNoIndex);
    for (const auto& [id, index] : ids_) {
      if (id < dense_.size()) dense_[id] = index;
    }
    return std::nullopt;
  }

  // kNoIndex when there is no such id.
  uint32_t find(uint64_t id) const {
    if (id < dense_.size()) return dense_[id];
    const auto found = std::ranges::lower_bound(ids_, id, {}, &Entry::first);
    return found != ids_.end() && found->first == id ? found->second : kNoIndex;
  }

 private:
  using Entry = std::pair<uint64_t, uint32_t>;
  std::vector<Entry> ids_;
  std::vector<uint32_t> dense_;
};

// The keys of labels that have a column of their own.
enum class LabelKey : uint8_t { Unseen, Other, Timestamp, EndTimestamp, Thread, ThreadName, State };

inline LabelKey findLabelKey(std::string_view key) {
  if (key == "timestamp_ns") return LabelKey::Timestamp;
  if (key == "end_timestamp_ns") return LabelKey::EndTimestamp;
  if (key == "thread") return LabelKey::Thread;
  if (key == "thread name") return LabelKey::ThreadName;
  if (key == "state") return LabelKey::State;
  return LabelKey::Other;
}

}  // namespace flamegate::control
