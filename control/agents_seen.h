// The agents that have given a sign of life, for the status page.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/capture_record.h"
#include "control/executor.h"
#include "control/facts.h"

namespace flamegate::control {

// Owner: control's main. Thread: control's.
class AgentsSeen {
 public:
  static constexpr size_t kAgentsMax = 1'000;  // beyond: the one not heard of for longest goes

  struct Key {
    std::string agent;    // "python/1.0"
    std::string runtime;  // "cpython/3.11"
    std::string service;
    auto operator<=>(const Key&) const = default;
  };
  struct Sighting {
    WallTime first_seen{};
    WallTime last_seen{};
    std::string host;  // of the latest upload or hello; empty: not told yet
    std::uint64_t started = 0;
    std::uint64_t refused = 0;
    agent::AckState latest_refusal = agent::AckState::Started;  // Started: none yet
    std::uint64_t uploads = 0;
    std::uint64_t hellos = 0;
  };
  using Sightings = std::map<Key, Sighting>;

  void onAck(const agent::CaptureRecord& capture, WallTime now);
  void onUpload(const ProfileRecord& record, WallTime now);
  void onHello(Key key, std::string host, WallTime now);

  const Sightings& all() const { return sightings_; }

 private:
  Sighting& see(Key key, WallTime now);

  Sightings sightings_;
};

}  // namespace flamegate::control
