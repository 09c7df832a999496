#include "agent-protocol/token/session_cookie.h"

namespace flamegate::agent {
namespace {

constexpr size_t kMacBytes = 16;
constexpr size_t kMacSize = 22;

std::string sessionMac(std::string_view session_id, const SessionKeys& keys) {
  const std::string text = std::string("FG1-SES\n").append(session_id);
  const auto mac = proxy::hmacSha256(proxy::asView(keys.session), text);
  return proxy::toBase64Url(proxy::asView(mac).substr(0, kMacBytes));
}

}  // namespace

std::string issueSessionId() {
  std::string chance(16, '\0');
  proxy::fillRandom(chance.data(), chance.size());
  return proxy::toBase64Url(chance);
}

std::string sessionCookieValue(std::string_view session_id, const SessionKeys& keys) {
  return std::string(session_id).append(".").append(sessionMac(session_id, keys));
}

std::optional<std::string_view> verifySessionCookie(std::string_view value,
                                                    const SessionKeyRing& ring) {
  if (value.size() != kSessionIdSize + 1 + kMacSize || value[kSessionIdSize] != '.') {
    return std::nullopt;
  }
  const std::string_view id = value.substr(0, kSessionIdSize);
  const std::string_view mac = value.substr(kSessionIdSize + 1);
  const SessionKeys* keys = ring.findIf([id, mac](const SessionKeys& candidate) {
    return proxy::equalConstantTime(sessionMac(id, candidate), mac);
  });
  if (keys == nullptr) return std::nullopt;
  return id;
}

std::string sessionSetCookie(std::string_view cookie_value, std::chrono::seconds lifetime,
                             bool secure) {
  std::string text(secure ? kSecureCookieName : kPlainCookieName);
  text.append("=").append(cookie_value).append("; Path=/; Max-Age=");
  text.append(std::to_string(lifetime.count())).append("; HttpOnly; SameSite=Lax");
  if (secure) text.append("; Secure");
  return text;
}

}  // namespace flamegate::agent
