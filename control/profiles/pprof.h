// pprof: the format in which profiles are stored, uploaded and downloaded.
//
// What is canonical: gzip; sample types samples/count, wall/nanoseconds, cpu/nanoseconds, then
// others as they came; one sample an event, in order of time, with the numeric label `timestamp_ns`
// (Unix time at which the sample begins) and the labels `thread`, `state` (running, waiting, gil,
// gc), `endpoint` and `profile_id`; comments that hold the conditions of the capture.
#pragma once

#include <string>
#include <string_view>

#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// Reads plain or gzipped bytes. Accepts every legal encoding of the format and what other writers
// make of it:
//  - a Line without a function, or a Location without Lines, gets a name from mapping and address;
//  - several Lines of a Location, inlined calls, become frames of their own;
//  - `end_timestamp_ns` is read as the sample's end, `thread name` as `thread`;
//  - mappings and addresses are not kept beyond such names.
// Malformed, with one line that names the field and the byte's offset, for anything else; TooLarge
// for what is over a limit. Time and memory are bounded by the limits alone.
proxy::Result<Profile> decodePprof(std::string_view bytes);

// The gzipped file. Labels that are empty and timestamps that are not known are left out.
std::string encodePprof(const Profile& profile);

// The same before compression.
std::string encodePprofPlain(const Profile& profile);

}  // namespace flamegate::control
