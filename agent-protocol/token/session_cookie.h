// The value of the session cookie: a random session id and its MAC, `ID.MAC`, 22 characters of
// base64url each, MAC = first 16 bytes of HMAC-SHA256(session key, "FG1-SES\n" + ID). What the
// session may do is kept on the server; the MAC keeps strangers' cookies from being looked up or
// cut out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/keys.h"

namespace flamegate::agent {

inline constexpr size_t kSessionIdSize = 22;
inline constexpr std::string_view kSecureCookieName = "__Host-flamegate";
inline constexpr std::string_view kPlainCookieName = "flamegate";

// 16 random bytes as text.
std::string issueSessionId();

std::string sessionCookieValue(std::string_view session_id, const SessionKeys& keys);

// The session id of a cookie value that we signed, pointing into it. Constant-time comparison.
std::optional<std::string_view> verifySessionCookie(std::string_view value,
                                                    const SessionKeyRing& keys);

// The value of a Set-Cookie field; at most 128 bytes. `secure`: the client speaks TLS. A lifetime
// of zero takes the cookie away.
std::string sessionSetCookie(std::string_view cookie_value, std::chrono::seconds lifetime,
                             bool secure);

}  // namespace flamegate::agent
