// What a gateway owes the next hop: who the client is, and that it was here.
#pragma once

#include "proxy/exchange/filter.h"

namespace flamegate::proxy {

// X-Forwarded-For, -Proto and -Host: what an untrusted peer says of them is dropped, what a trusted
// proxy says is continued. Via is appended (RFC 9110 §7.6.3), Max-Forwards counted down (§7.6.2),
// a loop of ten visits answered with 508, our private fields removed.
std::unique_ptr<Filter> makeForwardingFilter();

// The header edits of the route, on requests and responses.
std::unique_ptr<Filter> makeHeaderEditsFilter();

}  // namespace flamegate::proxy
