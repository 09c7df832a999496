// Paths and the `Flamegate-Auth` field of what agents send to control (SPEC.md R16 to R26).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/wire/profile_id.h"

namespace flamegate::agent {

inline constexpr std::string_view kAuthName = "Flamegate-Auth";
inline constexpr std::string_view kMetaName = "Flamegate-Meta";
inline constexpr std::string_view kUploadPathPrefix = "/agent/v1/profiles/";
inline constexpr std::string_view kHelloPathPrefix = "/agent/v1/hello/";

// `[0-9]{1,10}-[0-9]{1,6}`: process id and sequence number.
bool isPart(std::string_view text);
// `[A-Za-z0-9._-]{1,64}`
bool isInstance(std::string_view text);

struct UploadPath {
  ProfileId id;
  std::string_view part;  // points into the path
};

// Nothing when `path` (without query) is not /agent/v1/profiles/ID/PART.
std::optional<UploadPath> parseUploadPath(std::string_view path);
// The INSTANCE of /agent/v1/hello/INSTANCE.
std::optional<std::string_view> parseHelloPath(std::string_view path);

// Of an upload or a hello.
struct UploadAuth {
  std::string kid;
  uint64_t ts_ms = 0;
  std::string nonce;      // 16 to 64 of [A-Za-z0-9_-]
  std::string signature;  // 43 characters; see token/agent_signature.h

  std::string format() const;
};
std::optional<UploadAuth> parseUploadAuth(std::string_view text);

// Of the answer to a hello.
struct AnswerAuth {
  std::string kid;
  std::string signature;  // 43 characters

  std::string format() const;
};
std::optional<AnswerAuth> parseAnswerAuth(std::string_view text);

}  // namespace flamegate::agent
