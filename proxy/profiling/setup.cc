#include "proxy/profiling/setup.h"

#include "agent-protocol/token/secret.h"

namespace flamegate::proxy {
namespace {

template <typename Keys>
Result<agent::Ring<Keys>> readRing(const std::string& file,
                                   const std::optional<std::string>& previous_file) {
  auto current = agent::readOrCreateSecretFile(file);
  if (!current) return fail(std::move(current.error()));
  std::optional<Keys> previous;
  if (previous_file) {
    auto secret = agent::readSecretFile(*previous_file);
    if (!secret) return fail(std::move(secret.error()));
    previous = Keys::derive(*secret);
  }
  return agent::Ring<Keys>(Keys::derive(*current), std::move(previous));
}

}  // namespace

ProfilingSetup::ProfilingSetup(const config::Config& config)
    : known_hosts_(config), prefix_(config.profiling.prefix) {
  const auto add = [&](const config::ProfilingPolicy& policy) {
    policies_.push_back({policy, AccessRules(policy.access, known_hosts_),
                         MarkScanner(policy.trigger), policy.enabled});
    enabled_ = enabled_ || policy.enabled;
  };
  policies_.reserve(config.routes.size() + 1);
  for (const config::Route& route : config.routes) add(route.profiling);
  add(config.profiling.policy);
}

Result<std::unique_ptr<ProfilingSetup>> ProfilingSetup::create(const config::Config& config) {
  std::unique_ptr<ProfilingSetup> setup(new ProfilingSetup(config));
  if (auto read = setup->readSecrets(config); !read) return fail(std::move(read.error()));
  return setup;
}

Result<> ProfilingSetup::readSecrets(const config::Config& config) {
  const config::Profiling& profiling = config.profiling;
  auto sessions = readRing<agent::SessionKeys>(profiling.session_secret_file,
                                               profiling.previous_session_secret_file);
  if (!sessions) return fail(std::move(sessions.error()));
  session_keys_ = std::make_unique<const agent::SessionKeyRing>(std::move(*sessions));
  for (const config::Cluster& cluster : config.clusters) {
    auto ring = cluster.secret_file ? readRing<agent::AgentKeys>(*cluster.secret_file, std::nullopt)
                                    : readRing<agent::AgentKeys>(profiling.secret_file,
                                                                 profiling.previous_secret_file);
    if (!ring) return fail(std::move(ring.error()));
    agent_keys_.push_back(std::move(*ring));
  }
  return {};
}

}  // namespace flamegate::proxy
