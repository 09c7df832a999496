// From the bytes of an upload to a part, or to the answer that refuses it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/wire/upload.h"
#include "control/agent_keys.h"
#include "control/facts.h"
#include "control/store/record.h"

namespace flamegate::control {

inline constexpr size_t kUploadBytesMax = 4u << 20;  // on the wire

// What an upload says of itself, taken from its head.
struct UploadHead {
  agent::ProfileId id;
  std::string part;
  std::string path;  // as sent
  std::string content_type;
  std::string content_coding;
  agent::UploadAuth auth;
  std::string meta;  // value of Flamegate-Meta; empty when absent
};

// A refusal: status and code of the answer, and what it makes of the profile, if anything.
struct UploadFault {
  std::uint16_t status = 400;
  std::string_view code;
  std::string message;
  std::optional<FailReason> reason;
  bool verified = false;  // it was signed by an agent
};

struct UploadVerdict {
  std::shared_ptr<const Part> part;  // null: refused
  UploadFault fault;
};

// Whether a body of this type and coding can be taken at all.
bool isUploadType(std::string_view content_type);
bool isUploadCoding(std::string_view content_coding);

// Signature, size, content, meta: in the order of the protocol's answers. Takes up to a second; for
// the pool. Pure.
UploadVerdict checkUpload(const UploadHead& head, std::string_view body, int64_t now_ms,
                          const AgentKeySet& keys);

}  // namespace flamegate::control
