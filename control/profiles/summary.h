// Small answers about one profile.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/profiles/model.h"

namespace flamegate::control {

// The column of that type, whatever its unit; kNoIndex when there is none.
size_t findColumn(const Profile& profile, std::string_view type);

// The column to show when nobody asked for one: wall, else the source's wish, else the last one, as
// pprof does it; kNoIndex when the profile has no types of values.
size_t shownColumn(const Profile& profile);

// How to read a column as nanoseconds: value × factor. Counts are multiplied by the period when
// that is a time; any other unit is taken as it is.
struct TimeWeight {
  size_t column = kNoIndex;
  int64_t factor = 1;
  bool is_time = false;

  int64_t of(const Samples& samples, size_t row) const {
    return column == kNoIndex ? 0 : multiplySaturating(samples.values[column][row], factor);
  }
};
TimeWeight timeWeight(const Profile& profile);

// Sum of a column; 0 for kNoIndex.
int64_t sumOf(const Profile& profile, size_t column);

// How many samples a row stands for: samples/count, else 1.
int64_t sampleCountOf(const Profile& profile, size_t samples_column, size_t row);
// The same, summed over all rows.
int64_t sampleCount(const Profile& profile);

// Nanoseconds by state as shown.
std::array<int64_t, kShownStateCount> stateTotals(const Profile& profile);

struct HotFunction {
  FunctionId function = 0;
  int64_t self = 0;
  int64_t total = 0;  // each sample once, however often the function is on its stack
};
enum class HotOrder : uint8_t { Self, Total };
// At most `count` functions with a value other than 0, the largest first; equal ones by their
// number.
std::vector<HotFunction> hottestFunctions(const Profile& profile, size_t column, HotOrder order,
                                          size_t count);

// "truncated_stacks=2 cut_strings=1 bad_lines=3 (first: line 7)"; "" when nothing was lost.
std::string describeLoss(const Loss& loss);

}  // namespace flamegate::control
