// Why a request that asked for a profile gets none.
#pragma once

#include <optional>
#include <string_view>

#include "agent-protocol/wire/ack.h"

namespace flamegate::proxy {

enum class SkipReason : unsigned char {
  Disabled,      // the client's off cookie
  Busy,          // all slots of the cluster or the route are taken
  Rate,          // too many in this minute
  Budget,        // the session is used up
  NoAgent,       // nobody acknowledged
  AgentBusy,     // the agent's own limits
  AgentOff,      // the agent is switched off
  AgentError,    // the agent failed, or cannot do what was asked
  BadSignature,  // the agent does not know the secret
  Clock,         // the agent's clock is too far from ours
  ControlDown,   // nobody would take the profile
  StoreDown,
  StoreFull,
  Upgrade,   // a protocol change or CONNECT
  Upstream,  // no connection was had
};

// As Profile-Skipped spells it.
std::string_view skipReasonName(SkipReason reason);

// Nothing for Started.
std::optional<SkipReason> skipReasonOf(agent::AckState state);

}  // namespace flamegate::proxy
