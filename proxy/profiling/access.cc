#include "proxy/profiling/access.h"

#include <algorithm>
#include <utility>

#include <re2/re2.h>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

using config::BasicUser;
using config::CertificateName;
using config::FromNetworks;
using config::SignedToken;
using config::TrustedHeader;

// Name and port apart; a literal keeps its brackets.
std::string_view withoutPort(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) {
    return authority;
  }
  return authority.substr(0, colon);
}

bool isIpLiteral(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return config::parseIp(host).has_value();
}

bool endsWithIgnoreCase(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && equalIgnoreCase(text.substr(text.size() - end.size()), end);
}

bool matches(const config::HostPattern& pattern, std::string_view host) {
  if (!pattern.any_subdomain) return equalIgnoreCase(pattern.name, host);
  const size_t tail = pattern.name.size() + 1;
  return host.size() > tail && host[host.size() - tail] == '.' &&
         endsWithIgnoreCase(host, pattern.name);
}

// `*.` stands for exactly one label (RFC 6125 §6.4.3), on either side.
bool matchesSan(std::string_view wanted, std::string_view name) {
  if (equalIgnoreCase(wanted, name)) return true;
  if (!wanted.starts_with("*.")) return false;
  const size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 &&
         equalIgnoreCase(wanted.substr(1), name.substr(dot));
}

bool holdsFrom(const FromNetworks& from, const ClientAddress& client) {
  if (client.unix_peer) return from.unix_peers;
  return client.ip && std::any_of(from.networks.begin(), from.networks.end(),
                                  [&client](const config::Cidr& network) {
                                    return network.contains(*client.ip);
                                  });
}

bool holdsCertificate(const CertificateName& wanted, std::span<const std::string> names) {
  return std::any_of(names.begin(), names.end(),
                     [&wanted](const std::string& name) { return matchesSan(wanted.san, name); });
}

// The value of the only line of that name; `_` in a sent name is not taken for `-`.
std::optional<std::string_view> onlyValue(const FieldList& fields, std::string_view name) {
  std::optional<std::string_view> value;
  for (const Field& field : fields) {
    if (field.removed() || !equalIgnoreCase(field.name(), name)) continue;
    if (value) return std::nullopt;
    value = field.value();
  }
  return value;
}

bool holdsHeader(const TrustedHeader& wanted, const RE2* pattern, const AccessFacts& facts) {
  if (!facts.client.peer_trusted) return false;
  const auto value = onlyValue(facts.head.fields, wanted.name);
  if (!value) return false;
  bool held = false;
  switch (wanted.test) {
    case TrustedHeader::Test::Equals:
      return *value == wanted.text;
    case TrustedHeader::Test::Regex:
      return pattern != nullptr && pattern->ok() && RE2::FullMatch(*value, *pattern);
    case TrustedHeader::Test::Has:
      forEachElement(*value, [&](std::string_view element) {
        held = element == wanted.text;
        return !held;
      });
  }
  return held;
}

bool isFetchedByOurselves(const FieldList& fields) {
  if (!fields.has(HeaderId::SecFetchSite)) return true;
  const auto site = fields.findSingle(HeaderId::SecFetchSite);
  return site == "none" || site == "same-origin";
}

agent::Rights toRights(const config::Rights& allow) {
  agent::Rights rights;
  if (allow.view) rights |= agent::Right::View;
  if (allow.trigger) rights |= agent::Right::Trigger;
  if (allow.manage) rights |= agent::Right::Manage;
  return rights;
}

// The parts of one decision that more than one rule may need.
struct Asked {
  const AccessFacts& facts;
  PasswordCache& passwords;
  std::optional<std::optional<BasicCredential>> credential;  // outer: looked for already

  const std::optional<BasicCredential>& basic() {
    if (!credential) {
      const auto value = facts.head.fields.findSingle(HeaderId::Authorization);
      credential = value ? parseBasic(*value) : std::nullopt;
    }
    return *credential;
  }
};

enum class Holds : unsigned char { No, Yes, Unknown };

Holds holdsUser(const BasicUser& user, Asked& asked, AccessResult& result) {
  const AccessFacts& facts = asked.facts;
  if (!facts.secure && !facts.client.loopback()) return Holds::No;
  const auto& credential = asked.basic();
  if (!credential || credential->user != user.name) return Holds::No;
  if (asked.passwords.isKnownGood(*credential, user.password_hash, facts.now)) return Holds::Yes;
  const config::IpBytes address = facts.client.ip.value_or(config::IpBytes{});
  if (!asked.passwords.beginTry(address, facts.now)) return Holds::No;
  result.pending = PendingPassword{*credential, user.password_hash, address};
  return Holds::Unknown;
}

}  // namespace

KnownHosts::KnownHosts(const config::Config& config) {
  for (const config::Route& route : config.routes) {
    patterns_.insert(patterns_.end(), route.hosts.begin(), route.hosts.end());
    addUrl(route.profiling.public_url);
  }
  addUrl(config.profiling.policy.public_url);
}

void KnownHosts::addUrl(const std::optional<std::string>& url) {
  if (!url) return;
  const size_t scheme_end = url->find("://");
  if (scheme_end == std::string::npos) return;
  const std::string_view authority = std::string_view(*url).substr(scheme_end + 3);
  patterns_.push_back({std::string(withoutPort(authority)), false});
}

bool KnownHosts::contains(std::string_view authority) const {
  const std::string_view host = withoutPort(authority);
  if (isIpLiteral(host) || equalIgnoreCase(host, "localhost") ||
      endsWithIgnoreCase(host, ".localhost")) {
    return true;
  }
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [host](const config::HostPattern& pattern) { return matches(pattern, host); });
}

struct AccessRules::Rule {
  explicit Rule(const config::AccessRule& rule) : source(rule) {
    for (const auto& condition : source.conditions) {
      if (std::holds_alternative<FromNetworks>(condition) ||
          std::holds_alternative<CertificateName>(condition) ||
          std::holds_alternative<BasicUser>(condition)) {
        ambient = true;
      }
      const auto* header = std::get_if<TrustedHeader>(&condition);
      if (header != nullptr && header->test == TrustedHeader::Test::Regex) {
        pattern = std::make_unique<RE2>(header->text, RE2::Quiet);
      }
    }
  }

  Holds holds(Asked& asked, AccessResult& result) const;

  config::AccessRule source;
  bool ambient = false;          // rests on something that a browser sends without being asked
  std::unique_ptr<RE2> pattern;  // of the only header condition
};

Holds AccessRules::Rule::holds(Asked& asked, AccessResult& result) const {
  const AccessFacts& facts = asked.facts;
  const BasicUser* user = nullptr;
  for (const auto& condition : source.conditions) {
    bool held = true;
    if (const auto* from = std::get_if<FromNetworks>(&condition)) {
      held = holdsFrom(*from, facts.client);
    } else if (const auto* header = std::get_if<TrustedHeader>(&condition)) {
      held = holdsHeader(*header, pattern.get(), facts);
    } else if (const auto* certificate = std::get_if<CertificateName>(&condition)) {
      held = holdsCertificate(*certificate, facts.certificate_names);
    } else if (std::holds_alternative<SignedToken>(condition)) {
      held = facts.token.has_value();
    } else {
      user = std::get_if<BasicUser>(&condition);
    }
    if (!held) return Holds::No;
  }
  return user == nullptr ? Holds::Yes : holdsUser(*user, asked, result);
}

AccessRules::AccessRules(const std::vector<config::AccessRule>& rules, const KnownHosts& hosts)
    : hosts_(hosts) {
  rules_.reserve(rules.size());
  for (const config::AccessRule& rule : rules) rules_.emplace_back(rule);
}

AccessRules::~AccessRules() = default;
AccessRules::AccessRules(AccessRules&&) noexcept = default;

AccessResult AccessRules::evaluate(const AccessFacts& facts, PasswordCache& passwords) const {
  AccessResult result;
  Asked asked{facts, passwords, std::nullopt};
  const bool ambient_counts =
      hosts_.contains(facts.head.authority) && isFetchedByOurselves(facts.head.fields);
  for (const Rule& rule : rules_) {
    if (rule.ambient && !ambient_counts) continue;
    const Holds holds = rule.holds(asked, result);
    if (holds == Holds::Unknown) return result;
    if (holds == Holds::No) continue;
    result.rights = toRights(rule.source.allow);
    if (rule.source.allow.of_token && facts.token) {
      result.rights |= facts.token->rights;
      result.holder = facts.token->holder;
    }
    result.by_user = std::any_of(
        rule.source.conditions.begin(), rule.source.conditions.end(),
        [](const auto& condition) { return std::holds_alternative<BasicUser>(condition); });
    if (result.by_user) result.holder = asked.basic()->user;
    return result;
  }
  return result;
}

}  // namespace flamegate::proxy
