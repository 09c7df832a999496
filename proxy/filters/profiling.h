// Everything that a request about profiling meets in the proxy.
#pragma once

#include "proxy/exchange/filter.h"
#include "proxy/profiling/runtime.h"
#include "proxy/profiling/setup.h"

namespace flamegate::proxy {

// Decides per request whether it is profiled; admits it, signs the request to its agent, reads the
// acknowledgement, tells the client, appends the badge, and hands the record over. Requests under the
// prefix go to control, or are answered here when they are about sessions.
// A request without any mark costs one look by MarkScanner. Nothing here can fail a request.
// First in the chain of requests, so last for responses. `setup` and `runtime` outlive the filter.
std::unique_ptr<Filter> makeProfilingFilter(const ProfilingSetup& setup, ProfilingRuntime& runtime);

}  // namespace flamegate::proxy
