// The `Flamegate-Meta` field: how a profile was taken, in the agent's own words (SPEC.md R19).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/base/result.h"

namespace flamegate::agent {

inline constexpr size_t kMetaBytesMax = 4096;  // of the JSON text

struct Ticks {
  uint64_t expected = 0;
  uint64_t taken = 0;
  uint64_t missed = 0;

  friend bool operator==(const Ticks&, const Ticks&) = default;
};

// Everything is optional: empty or absent when the agent did not say.
struct UploadMeta {
  std::string agent;        // "python/1.0"
  std::string runtime;      // "cpython/3.11"
  std::string host;         // the machine's name
  std::string attribution;  // how samples were assigned to the request
  std::string route;        // the framework's template, as "/orders/{id}"
  std::optional<uint64_t> pid;
  std::optional<uint64_t> start_unix_ns;
  std::optional<uint64_t> end_unix_ns;
  std::optional<uint64_t> period_us;
  std::optional<uint64_t> measured_period_us;
  std::optional<uint64_t> overhead_ns;
  std::optional<Ticks> ticks;
  bool truncated = false;

  friend bool operator==(const UploadMeta&, const UploadMeta&) = default;
};

// Of the field's value; an absent field is an empty text and an empty meta.
proxy::Result<UploadMeta> parseMeta(std::string_view field);
std::string formatMeta(const UploadMeta& meta);

}  // namespace flamegate::agent
