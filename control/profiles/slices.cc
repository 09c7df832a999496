#include "control/profiles/slices.h"

#include <algorithm>

#include "control/profiles/summary.h"

namespace flamegate::control {
namespace {

constexpr int64_t kDayNs = int64_t{24} * 3600 * 1'000'000'000;
// No profile lasts longer; keeps every sum of two times within range.
constexpr int64_t kLongestNs = 366 * kDayNs;

int64_t axisStart(const Profile& profile) {
  int64_t earliest = 0;
  for (const int64_t time : profile.samples.timestamp_ns) {
    if (time > 0 && (earliest == 0 || time < earliest)) earliest = time;
  }
  const int64_t start = profile.start_unix_ns;
  if (earliest == 0) return start;
  const bool plausible = start > 0 && start <= earliest && earliest - start <= kDayNs;
  return plausible ? start : earliest;
}

// Rows of each thread, in the profile's order.
std::vector<ThreadSlices> rowsByThread(const Profile& profile) {
  std::vector<ThreadSlices> threads;
  std::vector<uint32_t> place(profile.threads.size(), kNoIndex);
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    uint32_t& at = place[profile.samples.thread[row]];
    if (at == kNoIndex) {
      at = static_cast<uint32_t>(threads.size());
      threads.push_back({profile.samples.thread[row], {}});
    }
    threads[at].slices.push_back(
        {.begin_ns = 0, .duration_ns = 0, .row = static_cast<uint32_t>(row)});
  }
  return threads;
}

void placeSlices(const Profile& profile, int64_t start, std::vector<Slice>* slices) {
  const TimeWeight weight = timeWeight(profile);
  int64_t previous_end = 0;
  for (Slice& slice : *slices) {
    const int64_t time = profile.samples.timestamp_ns[slice.row];
    slice.begin_ns = time > 0 ? std::min(time - start, kLongestNs) : previous_end;
    slice.duration_ns = std::clamp<int64_t>(weight.of(profile.samples, slice.row), 0, kLongestNs);
    previous_end = std::min(slice.end(), kLongestNs);
  }
  std::ranges::stable_sort(*slices, {}, &Slice::begin_ns);
  for (size_t i = 0; i + 1 < slices->size(); ++i) {
    Slice& slice = (*slices)[i];
    slice.duration_ns = std::min(slice.duration_ns, (*slices)[i + 1].begin_ns - slice.begin_ns);
  }
}

}  // namespace

TimeAxis timeAxis(const Profile& profile) {
  TimeAxis axis;
  axis.start_unix_ns = axisStart(profile);
  axis.duration_ns = std::min(profile.duration_ns, kLongestNs);
  axis.threads = rowsByThread(profile);
  for (ThreadSlices& thread : axis.threads) {
    placeSlices(profile, axis.start_unix_ns, &thread.slices);
    axis.duration_ns = std::max(axis.duration_ns, thread.slices.back().end());
  }
  return axis;
}

}  // namespace flamegate::control
