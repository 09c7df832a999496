#include <algorithm>

#include "config/load/bindings.h"
#include "config/load/sections.h"
#include "config/load/text_rules.h"

namespace flamegate::config {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kAccessRulesMax = 100;
constexpr size_t kNetworksMax = 1000;

constexpr std::array<Word<SampleMode>, 3> kModes = {
    {{"wall", SampleMode::Wall}, {"cpu", SampleMode::Cpu}, {"both", SampleMode::Both}}};
constexpr std::array<Word<CspMode>, 3> kCspModes = {
    {{"reuse", CspMode::Reuse}, {"amend", CspMode::Amend}, {"off", CspMode::Off}}};

void describeTrigger(Visitor& v, Trigger& trigger) {
  v.key("query", optional<std::string>(trigger.query, "none",
                                       [](std::string& name) { return text(name, kQueryName); }));
  v.key("header", flag(trigger.header));
  v.key("referer", flag(trigger.referer));
  v.key("path_segment", flag(trigger.path_segment));
  v.key("strip", flag(trigger.strip));
}

// ---- Access rules ------------------------------------------------------------------------------

// The conditions of a rule as the keys that say them.
struct ConditionKeys {
  std::vector<std::optional<Cidr>> from;  // an element without a network is `unix`
  bool token = false;
  std::optional<TrustedHeader> header;
  std::optional<CertificateName> client_cert;
  std::optional<BasicUser> user;
};

void addKey(ConditionKeys& keys, const FromNetworks& from) {
  keys.from.assign(from.networks.begin(), from.networks.end());
  if (from.unix_peers) keys.from.emplace_back();
}
void addKey(ConditionKeys& keys, const SignedToken&) { keys.token = true; }
void addKey(ConditionKeys& keys, const TrustedHeader& header) { keys.header = header; }
void addKey(ConditionKeys& keys, const CertificateName& name) { keys.client_cert = name; }
void addKey(ConditionKeys& keys, const BasicUser& user) { keys.user = user; }

ConditionKeys keysOf(const std::vector<AccessCondition>& conditions) {
  ConditionKeys keys;
  for (const AccessCondition& condition : conditions) {
    std::visit([&keys](const auto& one) { addKey(keys, one); }, condition);
  }
  return keys;
}

std::vector<AccessCondition> conditionsOf(const ConditionKeys& keys) {
  std::vector<AccessCondition> conditions;
  if (!keys.from.empty()) {
    FromNetworks from;
    for (const auto& network : keys.from) {
      if (network) from.networks.push_back(*network);
      from.unix_peers |= !network;
    }
    conditions.emplace_back(std::move(from));
  }
  if (keys.header) conditions.emplace_back(*keys.header);
  if (keys.client_cert) conditions.emplace_back(*keys.client_cert);
  if (keys.token) conditions.emplace_back(SignedToken{});
  if (keys.user) conditions.emplace_back(*keys.user);
  return conditions;
}

// The text of the header's test, when it is of this kind.
Scalar headerTest(TrustedHeader& header, TrustedHeader::Test test) {
  const bool expression = test == TrustedHeader::Test::Regex;
  return alternative(
      expression ? regex(header.text) : text(header.text, kFieldValue),
      [&header, test] { header.test = test; }, [&header, test] { return header.test == test; });
}

void describeTrustedHeader(Visitor& v, TrustedHeader& header) {
  v.key("name", Need::Required, text(header.name, kFieldName));
  v.key("has", headerTest(header, TrustedHeader::Test::Has));
  v.key("equals", headerTest(header, TrustedHeader::Test::Equals));
  v.key("regex", headerTest(header, TrustedHeader::Test::Regex));
  v.exactlyOne({"has", "equals", "regex"});
}

void describeCertificateName(Visitor& v, CertificateName& name) {
  v.key("san", Need::Required, text(name.san, kCertificateName));
}

void describeBasicUser(Visitor& v, BasicUser& user) {
  v.key("name", Need::Required, text(user.name, kUserName));
  v.key("password_hash", Need::Required, secretText(user.password_hash, kPasswordHash));
}

void describeAccessRule(Visitor& v, AccessRule& rule) {
  ConditionKeys keys = keysOf(rule.conditions);
  v.key("from", scalarList<std::optional<Cidr>>(keys.from, {.size_max = kNetworksMax},
                                                [](std::optional<Cidr>& network) {
                                                  return optional<Cidr>(network, "unix", cidr);
                                                }));
  v.key("token", flag(keys.token));
  v.key("header", optionalSection(keys.header, describeTrustedHeader));
  v.key("client_cert", optionalSection(keys.client_cert, describeCertificateName));
  v.key("user", optionalSection(keys.user, describeBasicUser));
  v.key("allow", Need::Required,
        wordSet({{"view", &rule.allow.view},
                 {"trigger", &rule.allow.trigger},
                 {"manage", &rule.allow.manage},
                 {"token", &rule.allow.of_token}},
                true));
  rule.conditions = conditionsOf(keys);
}

// ---- What a capture may cost -------------------------------------------------------------------

void describeDefaults(Visitor& v, ProfileDefaults& defaults) {
  v.key("mode", choice(defaults.mode, kModes));
  v.key("interval", duration(defaults.interval, microseconds(100), seconds(1)));
  v.key("max", duration(defaults.max, milliseconds(10), minutes(10)));
}

void describeLimits(Visitor& v, ProfileLimits& limits) {
  v.key("concurrent", integer(limits.concurrent, 1, 1000));
  v.key("per_minute", integer(limits.per_minute, 1, 100'000));
  v.key("per_route", integer(limits.per_route, 1, 1000));
}

void describeInject(Visitor& v, Inject& inject) {
  v.key("badge", flag(inject.badge));
  v.key("csp", choice(inject.csp, kCspModes));
  v.key("max_body", size(inject.body_bytes_max, kKiB, 64 * kMiB));
}

void describeHeaders(Visitor& v, ProfileHeaders& headers) {
  v.key("native", flag(headers.native));
  v.key("miniprofiler", flag(headers.miniprofiler));
  v.key("server_timing", flag(headers.server_timing));
}

void describeSession(Visitor& v, SessionLimits& session) {
  v.key("max", duration(session.max, minutes(1), hours(24)));
  v.key("requests", integer(session.requests, 1, 1'000'000));
}

}  // namespace

void describeProfilingPolicy(Visitor& v, ProfilingPolicy& policy) {
  v.key("enabled", flag(policy.enabled));
  v.key("public_url", optional<std::string>(policy.public_url, "auto",
                                            [](std::string& url) { return text(url, kSite); }));
  v.key("trigger", section(policy.trigger, describeTrigger));
  v.key("access", sectionList(policy.access, {.size_max = kAccessRulesMax}, describeAccessRule));
  v.key("defaults", section(policy.defaults, describeDefaults));
  v.key("limits", section(policy.limits, describeLimits));
  v.key("inject", section(policy.inject, describeInject));
  v.key("headers", section(policy.headers, describeHeaders));
  v.key("keep_query", flag(policy.keep_query));
}

void describeProfiling(Visitor& v, Profiling& profiling) {
  v.key("prefix", text(profiling.prefix, kProfilingPrefix));
  describeProfilingPolicy(v, profiling.policy);
  v.key("challenge", flag(profiling.challenge));
  v.key("session", section(profiling.session, describeSession));
  v.key("secret_file", filePath(profiling.secret_file));
  v.key("previous_secret_file", optionalFilePath(profiling.previous_secret_file));
  v.key("session_secret_file", filePath(profiling.session_secret_file));
  v.key("previous_session_secret_file", optionalFilePath(profiling.previous_session_secret_file));
}

}  // namespace flamegate::config
