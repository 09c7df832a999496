#include "control/agent_keys.h"

#include <optional>
#include <utility>

#include "agent-protocol/token/secret.h"

namespace flamegate::control {
namespace {

using agent::AgentKeys;
using agent::KeyRing;
using proxy::Result;

Result<KeyRing> readRing(const std::string& current, const std::optional<std::string>& previous) {
  Result<std::string> secret = agent::readOrCreateSecretFile(current);
  if (!secret) return proxy::fail(std::move(secret.error()));
  std::optional<AgentKeys> old;
  if (previous) {
    Result<std::string> old_secret = agent::readSecretFile(*previous);
    if (!old_secret) return proxy::fail(std::move(old_secret.error()));
    old = AgentKeys::derive(*old_secret);
  }
  return KeyRing(AgentKeys::derive(*secret), std::move(old));
}

}  // namespace

Result<AgentKeySet> AgentKeySet::create(const config::Config& config) {
  const config::Profiling& profiling = config.profiling;
  std::vector<KeyRing> rings;
  std::map<std::string, size_t> ring_of_service;
  std::map<std::string, size_t> ring_of_file;
  for (const config::Cluster& cluster : config.clusters) {
    const std::string& file = cluster.secret_file.value_or(profiling.secret_file);
    const auto [at, added] = ring_of_file.try_emplace(file, rings.size());
    ring_of_service.emplace(cluster.service, at->second);
    if (!added) continue;
    Result<KeyRing> ring =
        readRing(file, cluster.secret_file ? std::nullopt : profiling.previous_secret_file);
    if (!ring) return proxy::fail(std::move(ring.error()));
    rings.push_back(std::move(*ring));
  }
  return AgentKeySet(std::move(rings), std::move(ring_of_service));
}

bool AgentKeySet::isPlausible(const agent::UploadAuth& auth, int64_t now_ms) const {
  for (const KeyRing& ring : rings_) {
    if (agent::isPlausible(auth, now_ms, ring)) return true;
  }
  return false;
}

const AgentKeys* AgentKeySet::verify(const agent::UploadAuth& auth, const agent::UploadFacts& facts,
                                     int64_t now_ms) const {
  for (const KeyRing& ring : rings_) {
    if (const AgentKeys* keys = agent::verifyUpload(auth, facts, now_ms, ring)) return keys;
  }
  return nullptr;
}

std::vector<std::string> AgentKeySet::kidsOf(const std::string& service) const {
  const auto at = ring_of_service_.find(service);
  if (at == ring_of_service_.end()) return {};
  const KeyRing& ring = rings_[at->second];
  std::vector<std::string> kids{ring.current().kid};
  if (ring.previous() != nullptr) kids.push_back(ring.previous()->kid);
  return kids;
}

}  // namespace flamegate::control
