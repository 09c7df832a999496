// The `Flamegate-Ack` field: what an agent made of a request (SPEC.md R13 to R15).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/wire/profile_id.h"

namespace flamegate::agent {

inline constexpr std::string_view kAckName = "Flamegate-Ack";

enum class AckState : unsigned char {
  Started,
  Busy,
  Off,
  BadSignature,
  Expired,
  Replay,
  Unsupported,
  Error,
};

// As `st` spells it: "started", "bad-sig", …
std::string_view ackStateName(AckState state);
std::optional<AckState> parseAckState(std::string_view text);

struct Ack {
  ProfileId id;
  AckState state = AckState::Error;
  std::string agent;               // "python/1.0"; empty when absent
  std::string runtime;             // "cpython/3.11"; empty when absent
  std::vector<std::string> caps;   // at most 16
  std::optional<uint64_t> now_ms;  // the agent's clock

  std::string format() const;
  friend bool operator==(const Ack&, const Ack&) = default;
};

// Nothing when the text is not an acknowledgement of version 1.
std::optional<Ack> parseAck(std::string_view text);

}  // namespace flamegate::agent
