// Signing and checking of everything that agents, proxy and control say to each other
// (SPEC.md R7, R8, R20, R26). All comparisons take constant time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/keys.h"
#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/request_header.h"
#include "agent-protocol/wire/upload.h"

namespace flamegate::agent {

// Sets kid and signature. `method` as the application will see it.
void signRequest(RequestHeader& header, std::string_view method, const AgentKeys& keys);

struct RequestCheck {
  // What the agent answers: Started when all checks that need no state passed, which leaves replay
  // and its own limits to the caller; nothing when the text cannot be acknowledged at all.
  std::optional<AckState> answer;
  RequestHeader
      header;  // with Started all of it, otherwise at least the id when there is an answer
};

// The checks of R8 in their order. An empty `service` takes any audience.
RequestCheck checkRequest(std::string_view header, std::string_view method,
                          std::string_view service, int64_t now_ms, const KeyRing& keys);

// What an upload's signature covers besides kid, time and nonce.
struct UploadFacts {
  std::string_view method;
  std::string_view path;         // as sent, without a query
  std::string_view body_sha256;  // 32 bytes; of the bytes on the wire
  std::string_view meta;         // value of Flamegate-Meta as sent; empty when absent
};

UploadAuth signUpload(const UploadFacts& facts, int64_t now_ms, std::string nonce,
                      const AgentKeys& keys);

// The keys with which `auth` was signed; null when its kid is unknown, its time is more than 300 s
// off or its signature is wrong. Hellos are checked the same way, with an empty meta.
const AgentKeys* verifyUpload(const UploadAuth& auth, const UploadFacts& facts, int64_t now_ms,
                              const KeyRing& keys);

// Whether kid and time of an upload could be good, before its body has been read.
bool isPlausible(const UploadAuth& auth, int64_t now_ms, const KeyRing& keys);

AnswerAuth signAnswer(std::string_view request_nonce, std::string_view body, const AgentKeys& keys);
bool verifyAnswer(const AnswerAuth& auth, std::string_view request_nonce, std::string_view body,
                  const KeyRing& keys);

}  // namespace flamegate::agent
