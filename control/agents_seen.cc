#include "control/agents_seen.h"

#include <algorithm>
#include <utility>

namespace flamegate::control {

void AgentsSeen::onAck(const agent::CaptureRecord& capture, WallTime now) {
  if (!capture.ack) return;
  Sighting& sighting = see({capture.ack->agent, capture.ack->runtime, capture.service}, now);
  if (capture.ack->state == agent::AckState::Started) {
    ++sighting.started;
  } else {
    ++sighting.refused;
    sighting.latest_refusal = capture.ack->state;
  }
}

void AgentsSeen::onUpload(const ProfileRecord& record, WallTime now) {
  Sighting& sighting = see({record.agent, record.runtime, record.service}, now);
  ++sighting.uploads;
  sighting.host = record.host;
}

void AgentsSeen::onHello(Key key, std::string host, WallTime now) {
  Sighting& sighting = see(std::move(key), now);
  ++sighting.hellos;
  sighting.host = std::move(host);
}

AgentsSeen::Sighting& AgentsSeen::see(Key key, WallTime now) {
  const auto known = sightings_.find(key);
  if (known == sightings_.end() && sightings_.size() >= kAgentsMax) {
    sightings_.erase(std::min_element(
        sightings_.begin(), sightings_.end(),
        [](const auto& a, const auto& b) { return a.second.last_seen < b.second.last_seen; }));
  }
  const auto [at, added] = sightings_.try_emplace(std::move(key));
  if (added) at->second.first_seen = now;
  at->second.last_seen = now;
  return at->second;
}

}  // namespace flamegate::control
