#include "agent-protocol/token/client_token.h"

#include <algorithm>
#include <utility>

#include "agent-protocol/wire/json_fields.h"
#include "proxy/base/strings.h"

namespace flamegate::agent {
namespace {

using nlohmann::json;
using proxy::asView;
using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr size_t kHolderBytesMax = 128;
constexpr size_t kHostBytesMax = 260;
constexpr size_t kJtiBytesMax = 64;
constexpr int64_t kClockSlackS = 60;  // for tokens minted on a machine whose clock is ahead

std::string tokenSignature(std::string_view payload, const SessionKeys& keys) {
  const std::string text = std::string("FG1-TOK\n").append(payload);
  return proxy::toBase64Url(asView(proxy::hmacSha256(asView(keys.token), text)));
}

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), proxy::toLowerAscii);
  return lower;
}

// A list of names, or one text with commas, as scripts write it.
std::optional<Rights> readAllow(const json& object) {
  const auto at = object.find("allow");
  if (at == object.end()) return std::nullopt;
  if (at->is_string()) return parseRights(at->get_ref<const std::string&>());
  if (!at->is_array()) return std::nullopt;
  Rights rights;
  for (const json& name : *at) {
    const auto* text = name.get_ptr<const std::string*>();
    const auto right = text == nullptr ? std::nullopt : parseRight(*text);
    if (!right) return std::nullopt;
    rights |= *right;
  }
  return rights;
}

std::optional<TokenClaims> readClaims(std::string_view payload, std::string_view kid) {
  const auto text = proxy::fromBase64Url(payload);
  const auto object = text ? parseJsonObject(*text) : std::nullopt;
  if (!object) return std::nullopt;
  TokenClaims claims;
  JsonFields fields(*object);
  std::string named_kid;
  uint64_t issued_at = 0;
  uint64_t expires_at = 0;
  fields.readText("kid", kJtiBytesMax, named_kid);
  fields.readNumber("iat", issued_at);
  fields.readNumber("exp", expires_at);
  fields.readText("for", kHolderBytesMax, claims.holder);
  fields.readText("host", kHostBytesMax, claims.host);
  fields.readText("jti", kJtiBytesMax, claims.jti);
  const auto allow = readAllow(*object);
  const auto ttl_max = static_cast<uint64_t>(kTokenTtlMax.count());
  if (!fields.ok() || !allow || named_kid != kid || claims.jti.empty() || issued_at == 0 ||
      expires_at <= issued_at || expires_at - issued_at > ttl_max) {
    return std::nullopt;
  }
  claims.allow = *allow;
  claims.issued_at_s = static_cast<int64_t>(issued_at);
  claims.expires_at_s = static_cast<int64_t>(expires_at);
  return claims;
}

}  // namespace

proxy::Result<TokenClaims> createClaims(Rights allow, std::chrono::seconds ttl, std::string holder,
                                        std::string_view host, int64_t now_s) {
  const auto refuse = [](std::string why) {
    return proxy::fail(ErrorCode::Refused, ErrorSource::Config, std::move(why));
  };
  if (allow.none()) return refuse("a token needs at least one right");
  if (ttl <= std::chrono::seconds(0) || ttl > kTokenTtlMax) {
    return refuse("a token lives for at least a second and at most 7 days");
  }
  if (holder.size() > kHolderBytesMax) return refuse("the holder's name is over 128 bytes");
  if (host.size() > kHostBytesMax) return refuse("the host is over 260 bytes");
  std::string chance(16, '\0');
  proxy::fillRandom(chance.data(), chance.size());
  return TokenClaims{now_s,           now_s + ttl.count(),       allow, std::move(holder),
                     lowerCase(host), proxy::toBase64Url(chance)};
}

std::string mintToken(const TokenClaims& claims, const SessionKeys& keys) {
  json allow = json::array();
  for (Right right : {Right::View, Right::Trigger, Right::Manage}) {
    if (claims.allow.has(right)) allow.push_back(formatRights(right));
  }
  json object = {{"kid", keys.kid},
                 {"iat", claims.issued_at_s},
                 {"exp", claims.expires_at_s},
                 {"allow", std::move(allow)},
                 {"jti", claims.jti}};
  if (!claims.holder.empty()) object["for"] = cleanText(claims.holder, kHolderBytesMax);
  if (!claims.host.empty()) object["host"] = cleanText(claims.host, kHostBytesMax);
  const std::string payload = proxy::toBase64Url(object.dump());
  return std::string(kTokenPrefix)
      .append(payload)
      .append(".")
      .append(tokenSignature(payload, keys));
}

TokenCheck checkToken(std::string_view token, std::string_view host, int64_t now_s,
                      const SessionKeyRing& ring) {
  TokenCheck check;
  if (token.size() > kTokenBytesMax || !token.starts_with(kTokenPrefix)) return check;
  token.remove_prefix(kTokenPrefix.size());
  const size_t dot = token.find('.');
  if (dot == std::string_view::npos) return check;
  const std::string_view payload = token.substr(0, dot);
  const std::string_view signature = token.substr(dot + 1);
  const SessionKeys* keys = ring.findIf([payload, signature](const SessionKeys& candidate) {
    return proxy::equalConstantTime(tokenSignature(payload, candidate), signature);
  });
  if (keys == nullptr) return check;

  check.state = TokenState::Invalid;
  auto claims = readClaims(payload, keys->kid);
  if (!claims || claims->issued_at_s > now_s + kClockSlackS) return check;
  check.claims = std::move(*claims);
  if (now_s >= check.claims.expires_at_s) {
    check.state = TokenState::Expired;
  } else if (!check.claims.host.empty() && !proxy::equalIgnoreCase(check.claims.host, host)) {
    check.state = TokenState::OtherHost;
  } else {
    check.state = TokenState::Good;
  }
  return check;
}

}  // namespace flamegate::agent
