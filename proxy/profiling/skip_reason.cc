#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

std::string_view skipReasonName(SkipReason reason) {
  switch (reason) {
    case SkipReason::Disabled:
      return "disabled";
    case SkipReason::Busy:
      return "busy";
    case SkipReason::Rate:
      return "rate";
    case SkipReason::Budget:
      return "budget";
    case SkipReason::NoAgent:
      return "no-agent";
    case SkipReason::AgentBusy:
      return "agent-busy";
    case SkipReason::AgentOff:
      return "agent-off";
    case SkipReason::AgentError:
      return "agent-error";
    case SkipReason::BadSignature:
      return "bad-signature";
    case SkipReason::Clock:
      return "clock";
    case SkipReason::ControlDown:
      return "control-down";
    case SkipReason::StoreDown:
      return "store-down";
    case SkipReason::StoreFull:
      return "store-full";
    case SkipReason::Upgrade:
      return "upgrade";
    case SkipReason::Upstream:
      return "upstream";
  }
  return "agent-error";
}

std::optional<SkipReason> skipReasonOf(agent::AckState state) {
  switch (state) {
    case agent::AckState::Started:
      return std::nullopt;
    case agent::AckState::Busy:
      return SkipReason::AgentBusy;
    case agent::AckState::Off:
      return SkipReason::AgentOff;
    case agent::AckState::BadSignature:
      return SkipReason::BadSignature;
    case agent::AckState::Expired:
      return SkipReason::Clock;
    case agent::AckState::Replay:
    case agent::AckState::Unsupported:
    case agent::AckState::Error:
      return SkipReason::AgentError;
  }
  return SkipReason::AgentError;
}

}  // namespace flamegate::proxy
