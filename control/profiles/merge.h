// Several profiles into one: the parts of a request that several processes served, or the requests
// of a campaign.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

struct MergePart {
  const Profile* profile = nullptr;
  std::string thread_prefix;  // "pid 71 / ", so that threads of one name stay apart
};

// Events: every sample stays, in order of time. Stacks: equal stacks in one state become one
// sample; threads, times and labels go.
enum class MergeDetail : uint8_t { Events, Stacks };

struct MergeOptions {
  MergeDetail detail = MergeDetail::Events;
  // Set at each sample; a label that it had under the same key goes.
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> comments;  // before those of the parts
};

// The types of values are those of all parts, samples/count, wall/nanoseconds and cpu/nanoseconds
// first; a part without a type counts 0 of it. The span is from the earliest start to the latest
// end, the period that of the first part with one; comments are united and losses summed.
// TooLarge when the whole is over a limit of one profile. Also the way to label a single profile.
proxy::Result<Profile> mergeProfiles(std::span<const MergePart> parts, const MergeOptions& options);

}  // namespace flamegate::control
