// What captures and uploads add to the record of a profile.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "agent-protocol/wire/capture_record.h"
#include "agent-protocol/wire/meta.h"
#include "control/store/record.h"
#include "proxy/base/encoding.h"

namespace flamegate::control {

struct Profile;

// One verified and decoded upload. Immutable; shared with the threads that merge it.
struct Part {
  std::string name;    // PART of the path
  proxy::Sha256 hash;  // of the body on the wire
  std::string kid;     // the secret that signed it
  agent::UploadMeta meta;
  std::shared_ptr<const Profile> profile;
};

// What merging a part into a profile has come to.
struct Assembled {
  std::string body;  // the canonical file: gzipped pprof
  uint64_t samples = 0;
  std::optional<Micros> cpu;
  ThreadStates states;
};

// The proxy's side: what it knows replaces what was there, except that an upload knows better on
// which machine, under which route and at which interval it was taken.
void applyCapture(ProfileRecord& record, const agent::CaptureRecord& capture, bool has_upload);

// The label under which a profile with this first part is listed.
std::string routeOf(const ProfileRecord& record, const Part& part, const std::string& route_name);

// The agent's side. The first part names agent, runtime, pid and host; ticks and overhead add up
// over the parts; samples are those of the whole. `route_name` is the configured route's, if it has
// one.
void applyPart(ProfileRecord& record, const Part& part, const Assembled& assembled, bool first,
               const std::string& route_name);

// Brings what this process knows into a stored record. A body that another process stored in
// between stays, with what its upload said.
void overlay(ProfileRecord& stored, const ProfileRecord& ours, bool ours_has_body);

}  // namespace flamegate::control
