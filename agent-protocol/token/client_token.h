// Tokens that give a person or a script rights for a while:
//   fg1.B64URL(JSON).B64URL(HMAC-SHA256(token key, "FG1-TOK\n" + B64URL(JSON)))
// with JSON {kid, iat, exp, allow, for, host, jti}. Constant-time comparison.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/keys.h"
#include "agent-protocol/token/rights.h"
#include "proxy/base/result.h"

namespace flamegate::agent {

inline constexpr std::string_view kTokenPrefix = "fg1.";
inline constexpr size_t kTokenBytesMax = 2048;
inline constexpr std::chrono::seconds kTokenTtlMax = std::chrono::hours(24 * 7);

struct TokenClaims {
  int64_t issued_at_s = 0;   // Unix seconds
  int64_t expires_at_s = 0;  // at most kTokenTtlMax later
  Rights allow;
  std::string holder;  // whom it was made for; at most 128 bytes, may be empty
  std::string host;    // lower case, with its port if any; empty: any host
  std::string jti;     // names the token for revocation; 1 to 64 bytes
};

// Claims with `issued_at_s` now, a random jti and the host in lower case. Fails when the time to
// live is not positive or over kTokenTtlMax, when there are no rights, or when a text is too long.
proxy::Result<TokenClaims> createClaims(Rights allow, std::chrono::seconds ttl, std::string holder,
                                        std::string_view host, int64_t now_s);

std::string mintToken(const TokenClaims& claims, const SessionKeys& keys);

enum class TokenState : unsigned char {
  Foreign,  // not a token, or not signed by us: it belongs to the application
  Invalid,  // signed by us, but its claims are not usable
  Expired,
  OtherHost,
  Good,
};

struct TokenCheck {
  TokenState state = TokenState::Foreign;
  TokenClaims
      claims;  // with Expired, OtherHost and Good; whether jti was revoked is the caller's question

  // Signed by us: then neither the application nor a log may see it, whatever else is wrong.
  bool genuine() const { return state != TokenState::Foreign; }
};

// `host` is the request's Host.
TokenCheck checkToken(std::string_view token, std::string_view host, int64_t now_s,
                      const SessionKeyRing& keys);

}  // namespace flamegate::agent
