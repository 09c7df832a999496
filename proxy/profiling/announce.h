// What the client is told: the response fields of a profiled request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/wire/profile_id.h"
#include "config/schema/profiling.h"
#include "proxy/base/arena.h"
#include "proxy/http/head.h"
#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

// Either an id, or a reason, or nothing at all.
struct Announcement {
  std::optional<agent::ProfileId> id;
  std::optional<SkipReason> skip;
  bool discreet = false;  // the client did not ask: it is told the id and the timing only

  bool nothing() const { return !id && !skip; }
  friend bool operator==(const Announcement&, const Announcement&) = default;
};

struct AnnounceContext {
  const config::ProfileHeaders& headers;
  std::string_view prefix;   // of our own pages
  std::string_view origin;   // of absolute links; empty: links are root-relative
  bool from_origin = false;  // the request has an Origin field
  bool preflight = false;
};

// Adds the fields and makes the response private to this client. Nothing is touched when there is
// nothing to announce. New values live in the arena.
void announce(ResponseHead& response, const Announcement& announcement,
              const AnnounceContext& context, Arena& arena);

// Replaces every statement about caching by `private, no-store`.
void forbidCaching(FieldList& fields);

// scheme://host of absolute links: the configured one, else the request's own when its Host is
// known, else empty.
std::string linkOrigin(const std::optional<std::string>& public_url, std::string_view authority,
                       bool secure, bool known_host);

}  // namespace flamegate::proxy
