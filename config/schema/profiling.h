// The profiling section: who may ask for a profile, how, and what it costs at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/schema/scalars.h"

namespace flamegate::config {

// What makes a request a profiled one.
struct Trigger {
  std::optional<std::string> query = "pp";  // name of the query pair; absent: off
  bool header = true;                       // X-Rack-Mini-Profiler
  bool referer = true;                      // inherited from a page of the same origin
  bool path_segment = false;                // /++profile++…
  bool strip = true;                        // cut our pairs before the application sees them
  bool operator==(const Trigger&) const = default;
};

// What a client may do. `of_token`: whatever the signed token itself says.
struct Rights {
  bool view = false;
  bool trigger = false;
  bool manage = false;
  bool of_token = false;
  bool any() const { return view || trigger || manage || of_token; }
  bool operator==(const Rights&) const = default;
};

// The client's address, after the walk over trusted_proxies, lies in one of the networks.
struct FromNetworks {
  std::vector<Cidr> networks;
  bool unix_peers = false;  // clients of a unix socket
  bool operator==(const FromNetworks&) const = default;
};

// The request carries a valid signed token.
struct SignedToken {
  bool operator==(const SignedToken&) const = default;
};

// A header that a trusted proxy set. Has: one element of the comma-separated value equals the text;
// Equals: the whole value does; Regex: the whole value matches it (RE2).
struct TrustedHeader {
  enum class Test : unsigned char { Has, Equals, Regex };
  std::string name;
  Test test = Test::Has;
  std::string text;
  bool operator==(const TrustedHeader&) const = default;
};

// The client's certificate names this subject alternative name; `*.` stands for one label.
struct CertificateName {
  std::string san;
  bool operator==(const CertificateName&) const = default;
};

// HTTP Basic credentials, over TLS or from loopback only.
struct BasicUser {
  std::string name;
  std::string password_hash;  // crypt(5), for example bcrypt; secret
  bool operator==(const BasicUser&) const = default;
};

using AccessCondition =
    std::variant<FromNetworks, SignedToken, TrustedHeader, CertificateName, BasicUser>;

// Holds when all its conditions hold; the first rule that holds decides alone.
struct AccessRule {
  std::vector<AccessCondition> conditions;  // at least one, at most one of a kind, cheapest first
  Rights allow;
  bool operator==(const AccessRule&) const = default;
};

// Loopback may do everything, a signed token what it says.
std::vector<AccessRule> defaultAccess();

enum class SampleMode : unsigned char { Wall, Cpu, Both };

// What is measured where a request does not ask otherwise.
struct ProfileDefaults {
  SampleMode mode = SampleMode::Wall;
  Duration interval = std::chrono::milliseconds(1);  // between two samples; 100us to 1s
  Duration max = std::chrono::seconds(30);  // longest capture; also how long a slot is held
  bool operator==(const ProfileDefaults&) const = default;
};

// Of one cluster, over all workers.
struct ProfileLimits {
  uint32_t concurrent = 4;
  uint32_t per_minute = 60;
  uint32_t per_route = 2;  // concurrent ones of one route
  bool operator==(const ProfileLimits&) const = default;
};

enum class CspMode : unsigned char { Reuse, Amend, Off };

// The badge at the end of HTML documents.
struct Inject {
  bool badge = true;
  CspMode csp = CspMode::Amend;        // reuse the page's nonce, amend the policy, or leave it
  uint64_t body_bytes_max = 4 * kMiB;  // decoded
  bool operator==(const Inject&) const = default;
};

// Which families of response headers are sent.
struct ProfileHeaders {
  bool native = true;         // Profile-Id, Profile-Link, Profile-Skipped
  bool miniprofiler = true;   // X-MiniProfiler-*
  bool server_timing = true;  // Server-Timing: profile
  bool operator==(const ProfileHeaders&) const = default;
};

// The part of the profiling section that a route may override; each route has its own, merged.
struct ProfilingPolicy {
  bool enabled = true;
  std::optional<std::string> public_url;  // scheme://host[:port]; absent: the request's known Host
  Trigger trigger;
  std::vector<AccessRule> access = defaultAccess();
  ProfileDefaults defaults;
  ProfileLimits limits;
  Inject inject;
  ProfileHeaders headers;
  bool keep_query = false;  // store paths with their query, secrets masked
  bool operator==(const ProfilingPolicy&) const = default;
};

// Sticky sessions.
struct SessionLimits {
  Duration max = std::chrono::minutes(15);
  uint32_t requests = 200;  // profiled ones
  bool operator==(const SessionLimits&) const = default;
};

struct Profiling {
  std::string prefix = "/__flamegate";  // begins with a slash, does not end with one
  bool challenge = false;               // 401 Basic under the prefix for clients without rights
  SessionLimits session;
  std::string secret_file = "flamegate.key";        // shared with agents; made when absent
  std::optional<std::string> previous_secret_file;  // accepted while secrets turn
  std::string session_secret_file = "flamegate-session.key";  // signs tokens and sessions
  std::optional<std::string> previous_session_secret_file;
  ProfilingPolicy policy;  // of what no route overrides, and of everything under the prefix
  bool operator==(const Profiling&) const = default;
};

}  // namespace flamegate::config
