#include "config/load/checks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <re2/re2.h>

namespace flamegate::config {
namespace {

std::string routePath(size_t index) { return indexPath("routes", index); }

// ---- Listeners ---------------------------------------------------------------------------------

// Two of our own sockets with one address; port 0 is a new port each time.
class OwnAddresses {
 public:
  explicit OwnAddresses(Findings& findings) : findings_(findings) {}

  void add(const Address& address, const std::string& path) {
    if (!address.isUnix() && address.port == 0) return;
    const auto [first, inserted] = paths_.emplace(formatAddress(address), path);
    if (!inserted) findings_.fault(path, "is the address of " + first->second + " as well");
  }

 private:
  Findings& findings_;
  std::map<std::string, std::string> paths_;
};

void checkOwnAddresses(const Config& config, Findings& findings) {
  OwnAddresses addresses(findings);
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const Address& address = config.listeners[i].address;
    const bool missing = address == Address();
    if (!missing) addresses.add(address, joinPath(indexPath("listeners", i), "address"));
  }
  if (config.admin.address) addresses.add(*config.admin.address, "admin.address");
  addresses.add(config.control.agents.address, "control.agents.address");
}

bool isLoopbackNetwork(const Cidr& network) {
  static const Cidr kV4 = *parseCidr("127.0.0.0/8");
  static const Cidr kV6 = *parseCidr("::1");
  return (kV4.contains(network.network) && network.prefix_bits >= kV4.prefix_bits) ||
         network == kV6;
}

bool isLoopbackAddress(const Address& address) {
  if (address.isUnix() || address.host == "localhost") return true;
  const auto ip = parseIp(address.host);
  return ip && isLoopbackNetwork({*ip, 128});
}

void checkListeners(const Config& config, Findings& findings) {
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const Listener& listener = config.listeners[i];
    const std::string path = indexPath("listeners", i);
    if (listener.proxy_protocol && listener.trusted_proxies.empty() && !listener.address.isUnix()) {
      findings.warn(joinPath(path, "proxy_protocol"),
                    "no peer may send PROXY lines while trusted_proxies is empty");
    }
    if (listener.tls && listener.tls->alpn.size() == 2 &&
        listener.tls->alpn.front() == listener.tls->alpn.back()) {
      findings.fault(joinPath(path, "tls.alpn[1]"), "is given twice");
    }
  }
  if (config.admin.address && !isLoopbackAddress(*config.admin.address)) {
    findings.warn("admin.address", "other machines can reach it, and it asks nobody for rights");
  }
}

// ---- Clusters ----------------------------------------------------------------------------------

// The list holds the clusters of the file's own list, then those that routes hold.
std::string clusterNamePath(const Config& config, size_t index, const Findings& findings) {
  std::string listed = joinPath(indexPath("clusters", index), "name");
  if (findings.isWritten(listed)) return listed;
  for (size_t i = config.routes.size(); i-- > 0;) {
    std::string held = joinPath(routePath(i), "cluster.name");
    if (config.routes[i].cluster == config.clusters[index].name && findings.isWritten(held)) {
      return held;
    }
  }
  return listed;
}

void checkClusterNames(const Config& config, Findings& findings) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < config.clusters.size(); ++i) {
    const std::string& name = config.clusters[i].name;
    if (name.empty() || names.insert(name).second) continue;
    findings.fault(clusterNamePath(config, i, findings),
                   "a cluster named " + inQuotes(name) + " exists already");
  }
}

// ---- Routes ------------------------------------------------------------------------------------

bool matchesEverything(const Route& route) {
  const RouteMatch& match = route.match;
  return route.hosts.empty() && match.path == PathMatch() && match.methods.empty() &&
         match.headers.empty() && match.query.empty();
}

void checkRewrite(const Route& route, const std::string& path, Findings& findings) {
  if (!route.rewrite) return;
  const Rewrite& rewrite = *route.rewrite;
  if (rewrite.kind == Rewrite::Kind::Prefix) {
    if (route.match.path.kind == PathMatch::Kind::Prefix) return;
    findings.fault(joinPath(path, "rewrite.prefix"), "needs `match.prefix`, which it replaces");
    return;
  }
  std::string problem;
  const RE2 pattern(rewrite.pattern, RE2::Quiet);
  if (pattern.ok() && !pattern.CheckRewriteString(rewrite.replacement, &problem)) {
    findings.fault(joinPath(path, "rewrite.to"), "does not fit the expression: " + problem);
  }
}

void checkMethods(const Route& route, const std::string& path, Findings& findings) {
  std::set<std::string_view> methods;
  for (size_t i = 0; i < route.match.methods.size(); ++i) {
    if (methods.insert(route.match.methods[i]).second) continue;
    findings.fault(indexPath(joinPath(path, "match.methods"), i), "is given twice");
  }
}

void checkRoutes(const Config& config, Findings& findings) {
  std::optional<size_t> catch_all;
  for (size_t i = 0; i < config.routes.size(); ++i) {
    const Route& route = config.routes[i];
    const std::string path = routePath(i);
    const bool known = route.cluster_index < config.clusters.size() &&
                       config.clusters[route.cluster_index].name == route.cluster;
    if (!route.cluster.empty() && !known) {
      findings.fault(joinPath(path, "cluster"), "no cluster is named " + inQuotes(route.cluster));
    }
    checkRewrite(route, path, findings);
    checkMethods(route, path, findings);
    if (catch_all) {
      findings.warn(path, "is never reached: " + routePath(*catch_all) + " matches everything");
    } else if (matchesEverything(route)) {
      catch_all = i;
    }
  }
}

// ---- Access ------------------------------------------------------------------------------------

// What a rule's conditions need from elsewhere.
class AccessCheck {
 public:
  AccessCheck(const Config& config, Findings& findings)
      : findings_(findings),
        trusts_proxies_(
            anyListener(config, [](const Listener& l) { return !l.trusted_proxies.empty(); })),
        asks_certificates_(anyListener(
            config, [](const Listener& l) { return l.tls && l.tls->client_ca.has_value(); })),
        has_hosts_(std::any_of(config.routes.begin(), config.routes.end(),
                               [](const Route& route) { return !route.hosts.empty(); })) {}

  void check(const ProfilingPolicy& policy, const std::string& path) {
    site_named_ = has_hosts_ || policy.public_url.has_value();
    for (size_t i = 0; i < policy.access.size(); ++i) {
      path_ = indexPath(joinPath(path, "access"), i);
      checkRule(policy.access[i]);
    }
  }

 private:
  template <typename Predicate>
  static bool anyListener(const Config& config, Predicate predicate) {
    return std::any_of(config.listeners.begin(), config.listeners.end(), predicate);
  }

  void checkRule(const AccessRule& rule) {
    if (rule.conditions.empty()) {
      findings_.fault(path_, "needs a condition; `from: [0.0.0.0/0, \"::/0\"]` is everybody");
    }
    bool token = false;
    for (const AccessCondition& condition : rule.conditions) {
      token |= std::holds_alternative<SignedToken>(condition);
      std::visit([this](const auto& one) { checkCondition(one); }, condition);
    }
    if (rule.allow.of_token && !token) {
      findings_.fault(joinPath(path_, "allow"), "`token` needs `token: true` beside it");
    }
  }

  void checkCondition(const FromNetworks& from) {
    const bool local = std::all_of(from.networks.begin(), from.networks.end(), isLoopbackNetwork);
    if (local || site_named_) return;
    findings_.warn(joinPath(path_, "from"),
                   "remote clients can match, but only under a Host that is an address or "
                   "localhost: neither a route's `hosts` nor `public_url` names the site");
  }
  void checkCondition(const SignedToken&) {}
  void checkCondition(const TrustedHeader&) {
    if (trusts_proxies_) return;
    findings_.warn(joinPath(path_, "header"), "never holds: no listener has `trusted_proxies`");
  }
  void checkCondition(const CertificateName&) {
    if (asks_certificates_) return;
    findings_.warn(joinPath(path_, "client_cert"), "never holds: no listener has `client_ca`");
  }
  void checkCondition(const BasicUser&) {}

  Findings& findings_;
  bool trusts_proxies_;
  bool asks_certificates_;
  bool has_hosts_;
  bool site_named_ = false;
  std::string path_;
};

void checkProfiling(const Config& config, Findings& findings) {
  const Profiling& profiling = config.profiling;
  AccessCheck access(config, findings);
  access.check(profiling.policy, "profiling");
  for (size_t i = 0; i < config.routes.size(); ++i) {
    if (config.routes[i].profiling.access == profiling.policy.access) continue;
    access.check(config.routes[i].profiling, joinPath(routePath(i), "profiling"));
  }
  if (profiling.secret_file == profiling.session_secret_file) {
    findings.fault("profiling.session_secret_file",
                   "must not be `secret_file`: agents read that one");
  }
}

}  // namespace

void checkConfig(const Config& config, Findings& findings) {
  checkOwnAddresses(config, findings);
  checkListeners(config, findings);
  checkClusterNames(config, findings);
  checkRoutes(config, findings);
  checkProfiling(config, findings);
}

}  // namespace flamegate::config
