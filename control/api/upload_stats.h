// What has become of uploads, by answer.
#pragma once

#include <cstdint>
#include <map>

namespace flamegate::control {

// Owner: the agent service. Thread: control's.
struct UploadStats {
  std::map<std::uint16_t, std::uint64_t> answers;  // by status
  std::uint64_t bytes = 0;                         // of verified bodies
  std::size_t open = 0;                            // bodies that are being read
  std::size_t open_bytes = 0;
};

}  // namespace flamegate::control
