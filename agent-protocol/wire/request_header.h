// The `Flamegate-Profile` field: what the proxy asks an agent to do (SPEC.md R5 to R7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/wire/profile_id.h"

namespace flamegate::agent {

inline constexpr std::string_view kRequestHeaderName = "Flamegate-Profile";

enum class Mode : unsigned char { Wall, Cpu, Both };

std::string_view modeName(Mode mode);
std::optional<Mode> parseMode(std::string_view text);

// `[A-Za-z0-9._-]{1,64}`
bool isServiceName(std::string_view text);

struct RequestHeader {
  ProfileId id;
  uint64_t ts_ms = 0;       // Unix time of signing
  uint64_t ttl_ms = 10000;  // for how long after that it is good
  std::string service;      // isServiceName()
  std::string kid;          // isKid()
  Mode mode = Mode::Wall;
  uint64_t interval_us = 1000;
  uint64_t max_ms = 30000;
  std::string signature;  // 22 characters; see token/agent_signature.h

  // What the signature covers.
  std::string signedText(std::string_view method) const;
  // The field's value, at most kPairsBytesMax bytes.
  std::string format() const;
};

struct RequestHeaderParse {
  enum class Outcome : unsigned char { Ok, OtherVersion, Malformed };
  Outcome outcome = Outcome::Malformed;
  RequestHeader header;  // with OtherVersion only the id is known
};

RequestHeaderParse parseRequestHeader(std::string_view text);

}  // namespace flamegate::agent
