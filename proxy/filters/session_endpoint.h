// POST and DELETE of api/v1/session under the prefix: sticky profiling, answered by the proxy itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/client_token.h"
#include "proxy/exchange/exchange.h"
#include "proxy/filters/profiled_request.h"
#include "proxy/profiling/runtime.h"

namespace flamegate::proxy {

// Begins or ends a session. Needs the right `trigger`, a same-origin caller and, for POST, a JSON object
// {"minutes":N} with N from 1 to the configured maximum. Waits while the body is incomplete.
Verdict serveSession(Exchange& exchange, ProfiledRequest& request, const ProfilingSetup& setup,
                     ProfilingRuntime& runtime);

// Opens the session that a token link asks for and gives its Set-Cookie value.
std::string openTokenSession(const Exchange& exchange, const agent::TokenClaims& claims, bool secure,
                             const ProfilingSetup& setup, ProfilingRuntime& runtime);

// {"error":{"code":…,"message":…}}; both are literals of ours without characters to escape.
LocalReply jsonError(uint16_t status, std::string_view code, std::string_view message);

}  // namespace flamegate::proxy
