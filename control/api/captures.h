// What the proxy itself asks of control: POST /internal/v1/captures and GET /internal/v1/rules.
#pragma once

#include "control/api/exchange.h"
#include "control/api/services.h"

namespace flamegate::control {

inline constexpr size_t kCapturesBytesMax = 8u << 20;

// Lines of capture records, oldest first. A line that cannot be read is left out and counted; the
// others are taken. Answers {"accepted":N,"rejected":N} without waiting for the store.
void takeCaptures(ApiServices& services, ApiRequest&& request, Responder respond);

// {"revoked":[{"jti":…,"until":UNIXMS}]}: what every proxy has to know. Its status tells whether
// captures can be kept: 503 while the store is away, 507 while it has no room.
void showRules(ApiServices& services, ApiRequest&& request, Responder respond);

}  // namespace flamegate::control
