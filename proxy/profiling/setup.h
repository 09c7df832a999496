// The profiling part of a configuration, ready for decisions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent-protocol/token/keys.h"
#include "config/schema/config.h"
#include "proxy/base/result.h"
#include "proxy/profiling/access.h"
#include "proxy/profiling/mark_scanner.h"

namespace flamegate::proxy {

// Keys, compiled access rules and scanners. Immutable.
// Owner: a Snapshot. Thread: any, read only.
class ProfilingSetup {
 public:
  // What one route decides by; the last is that of requests without a route.
  struct Policy {
    const config::ProfilingPolicy& config;
    AccessRules access;
    MarkScanner scanner;
    bool enabled;
  };

  // Reads the secret files and makes those that are absent; blocks on the file system. `config`
  // outlives the setup. Errors: Config with the file's name.
  static Result<std::unique_ptr<ProfilingSetup>> create(const config::Config& config);

  // `route`: its index; the number of routes for a request without one.
  const Policy& policyOf(size_t route) const { return policies_[route]; }
  const agent::SessionKeyRing& sessionKeys() const { return *session_keys_; }
  // What the agents behind a cluster share with us.
  const agent::KeyRing& agentKeys(size_t cluster) const { return agent_keys_[cluster]; }
  const KnownHosts& knownHosts() const { return known_hosts_; }
  // Where the console lives: at least a slash and a byte.
  const std::string& prefix() const { return prefix_; }
  // Whether any request can concern the profiler.
  bool enabled() const { return enabled_; }

 private:
  explicit ProfilingSetup(const config::Config& config);
  Result<> readSecrets(const config::Config& config);

  KnownHosts known_hosts_;
  std::vector<Policy> policies_;
  std::unique_ptr<const agent::SessionKeyRing> session_keys_;
  std::vector<agent::KeyRing> agent_keys_;
  const std::string prefix_;
  bool enabled_ = false;
};

}  // namespace flamegate::proxy
