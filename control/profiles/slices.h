// When each sample began and how long it lasted, thread by thread.
#pragma once

#include <cstdint>
#include <vector>

#include "control/profiles/model.h"

namespace flamegate::control {

struct Slice {
  int64_t begin_ns = 0;  // from the beginning of the axis
  int64_t duration_ns = 0;
  uint32_t row = 0;  // of Profile::samples

  int64_t end() const { return begin_ns + duration_ns; }
};

struct ThreadSlices {
  ThreadId thread = 0;
  std::vector<Slice> slices;  // in order of time, none over the next
};

struct TimeAxis {
  int64_t start_unix_ns = 0;
  int64_t duration_ns = 0;
  std::vector<ThreadSlices> threads;  // in order of their first sample in the profile
};

// The axis begins at the profile's start, or at the earliest sample when that is before it or more
// than a day after it (then the two come from different clocks). Samples whose time is not known
// follow the sample before them without a gap. A sample ends at the latest where the next of its
// thread begins; a negative weight counts as none.
TimeAxis timeAxis(const Profile& profile);

}  // namespace flamegate::control
