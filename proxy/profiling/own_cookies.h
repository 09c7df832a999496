// The cookies that are ours among an application's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/session_cookie.h"
#include "proxy/base/arena.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

inline constexpr std::string_view kOffCookieName = "flamegate-off";

struct OwnCookies {
  std::string_view session_id;  // of the first session cookie that we signed; empty: none
  bool off = false;             // the client does not want to be profiled
};

// Calls `each(pair, name, value)` for the cookies of one field value (RFC 6265 §4.2.1), trimmed.
template <typename Each>
void forEachCookie(std::string_view field, Each each) {
  while (true) {
    const size_t end = field.find(';');
    std::string_view pair = field.substr(0, end);
    while (pair.starts_with(' ') || pair.starts_with('\t')) pair.remove_prefix(1);
    while (pair.ends_with(' ') || pair.ends_with('\t')) pair.remove_suffix(1);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos) {
      each(pair, pair.substr(0, equals), pair.substr(equals + 1));
    } else if (!pair.empty()) {
      each(pair, std::string_view(), pair);
    }
    if (end == std::string_view::npos) return;
    field.remove_prefix(end + 1);
  }
}

// The session id of a cookie that is ours: of one of our names, with a MAC that verifies.
std::optional<std::string_view> findSessionId(std::string_view name, std::string_view value,
                                              const agent::SessionKeyRing& keys);

OwnCookies readOwnCookies(const FieldList& fields, const agent::SessionKeyRing& keys);

// Cuts session cookies that we signed from the Cookie fields; a field that held nothing else goes.
// The other cookies keep their bytes and order. New values live in the arena.
void cutSessionCookies(FieldList& fields, const agent::SessionKeyRing& keys, Arena& arena);

// Set-Cookie values that switch profiling off for a client for 24 hours, and on again.
std::string offCookie(bool off, bool secure);

}  // namespace flamegate::proxy
