// What a client may do with the profiler: the access rules of a configuration, applied.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/token/rights.h"
#include "config/schema/config.h"
#include "proxy/http/head.h"
#include "proxy/profiling/basic_auth.h"
#include "proxy/profiling/client_address.h"

namespace flamegate::proxy {

// Rights that a signed token carries: one in this request, or the one that opened its session. The
// caller has checked signature, time, host and revocation.
struct TokenGrant {
  agent::Rights rights;
  std::string_view holder;
};

// What the rules look at. Views outlive the call.
struct AccessFacts {
  const RequestHead& head;
  const ClientAddress& client;
  bool secure = false;  // the client speaks TLS to us or to a trusted proxy
  std::span<const std::string> certificate_names;  // verified DNS names of the client's certificate
  std::optional<TokenGrant> token;
  TimePoint now;
};

// A password that only verifyPassword() on another thread can judge. The caller notes the outcome
// in the PasswordCache and asks the rules again.
struct PendingPassword {
  BasicCredential credential;
  std::string hash;
  config::IpBytes address;
};

struct AccessResult {
  agent::Rights rights;
  std::string holder;    // the token's holder or the user's name, where one decided
  bool by_user = false;  // Basic credentials decided: they leave the request
  std::optional<PendingPassword> pending;  // not decided yet; rights are none
};

// Which Hosts are known to be ours, against DNS rebinding: names in routes and public_url; literals
// and localhost always are. Immutable.
class KnownHosts {
 public:
  explicit KnownHosts(const config::Config& config);
  // `authority` as in Host, with or without a port.
  bool contains(std::string_view authority) const;

 private:
  void addUrl(const std::optional<std::string>& url);
  std::vector<config::HostPattern> patterns_;
};

// The rules of one policy, compiled. Tried top to bottom; the first whose conditions all hold
// decides. Rights that rest on address, certificate or user need a known Host and, when
// Sec-Fetch-Site is sent, one of `none` and `same-origin`: otherwise such a rule does not hold.
// Immutable. Owner: a route's policy. Thread: any.
class AccessRules {
 public:
  // `hosts` outlives the rules.
  AccessRules(const std::vector<config::AccessRule>& rules, const KnownHosts& hosts);
  ~AccessRules();
  AccessRules(AccessRules&&) noexcept;

  // A pending result has begun a try of its password.
  AccessResult evaluate(const AccessFacts& facts, PasswordCache& passwords) const;

 private:
  struct Rule;
  const KnownHosts& hosts_;
  std::vector<Rule> rules_;
};

}  // namespace flamegate::proxy
