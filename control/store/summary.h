// What lists, groups and retention need of one profile, and its text form in the media.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/store/record.h"

namespace flamegate::control {

struct Summary {
  std::string id;
  ProfileKind kind = ProfileKind::Request;
  ProfileState state = ProfileState::Running;
  std::optional<Trigger> trigger;
  std::optional<int> status;
  WallTime started_at{};
  std::optional<Micros> duration;
  std::optional<uint64_t> samples;
  WallTime stored_at{};
  std::optional<WallTime> pinned_until;
  uint64_t bytes = 0;  // of metadata and body together
  std::string method;
  std::string path;
  std::string route;
  std::string host;
  std::string service;
  std::string campaign;
  friend bool operator==(const Summary&, const Summary&) = default;
};

Summary summarize(const ProfileRecord& record, uint64_t bytes);

// The fields in a fixed order, separated by U+001F; an unknown one is empty. Control bytes within
// the strings become "?".
std::string encodeSummary(const Summary& summary);

// Nothing when the text is not of that form, has no valid id, or is longer than kSummaryBytesMax.
std::optional<Summary> findSummary(std::string_view text);

inline constexpr size_t kSummaryBytesMax = 64 * 1024;

}  // namespace flamegate::control
