// The secrets that agents sign with, of all clusters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/token/agent_signature.h"
#include "agent-protocol/token/keys.h"
#include "config/schema/config.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// Immutable; read on control's thread and on the pool.
class AgentKeySet {
 public:
  // Reads the secret files, and makes those that are not there. Blocks.
  static proxy::Result<AgentKeySet> create(const config::Config& config);

  // One ring for each secret that is in use, and by service the ring of its cluster.
  AgentKeySet(std::vector<agent::KeyRing> rings, std::map<std::string, size_t> ring_of_service)
      : rings_(std::move(rings)), ring_of_service_(std::move(ring_of_service)) {}

  // Whether kid and time of a signature could be good, before there is a body.
  bool isPlausible(const agent::UploadAuth& auth, int64_t now_ms) const;
  // The keys that made the signature; null when it is not good.
  const agent::AgentKeys* verify(const agent::UploadAuth& auth, const agent::UploadFacts& facts,
                                 int64_t now_ms) const;
  // The kids that are accepted for a service; empty for one that is not configured.
  std::vector<std::string> kidsOf(const std::string& service) const;

 private:
  std::vector<agent::KeyRing> rings_;
  std::map<std::string, size_t> ring_of_service_;
};

}  // namespace flamegate::control
