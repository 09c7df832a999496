// The `Flamegate-Call` field: with it the proxy vouches to control for a request under the own
// prefix. A convention between our own two processes:
//
//   Flamegate-Call: v=1;ts=UNIXMS;allow=view,trigger,manage;for=B64URL(name);site=B64URL(host);
//                   scheme=http|https;sig=B64URL(HMAC-SHA256(control key, text))
//   text = "FG1-CTL\n" + ts, METHOD, target, allow, for, site, scheme as in the field, joined by
//   "\n"
//
// in one line. Control refuses a call without it, with a wrong signature, or more than 60 s off its
// clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/keys.h"
#include "agent-protocol/token/rights.h"

namespace flamegate::agent {

inline constexpr std::string_view kCallName = "Flamegate-Call";

struct ControlCall {
  Rights allow;
  std::string holder;   // who the client is, if known; at most 128 bytes
  std::string site;     // the request's Host; at most 260 bytes
  bool secure = false;  // the client's scheme is https

  friend bool operator==(const ControlCall&, const ControlCall&) = default;
};

// The field's value. `target` is the request target exactly as control receives it.
std::string signCall(const ControlCall& call, std::string_view method, std::string_view target,
                     int64_t now_ms, const SessionKeys& keys);

// Constant-time comparison.
std::optional<ControlCall> verifyCall(std::string_view field, std::string_view method,
                                      std::string_view target, int64_t now_ms,
                                      const SessionKeyRing& keys);

}  // namespace flamegate::agent
