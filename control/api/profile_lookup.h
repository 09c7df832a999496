// What the resources of one profile share: its id, its metadata, the wait for it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "control/api/exchange.h"
#include "control/api/services.h"
#include "control/store/record.h"

namespace flamegate::control {

inline constexpr Millis kWaitMax{60'000};  // of `?wait=`

// The record as the API shows it: with links, root-relative.
std::string metadataJson(const ProfileRecord& record, const std::string& prefix);

// Reads the id from the path and `wait` from the query, waits and calls `then` with the record as
// it is at the end; answers by itself what has no record (404) or is malformed (400).
void withProfile(ApiServices& services, const ApiRequest& request, Responder respond,
                 std::function<void(ProfileRecord, Responder)> then);

// The same, for what needs the stored file: 409 with Retry-After while it is not settled, 404 when
// it failed. `then` gets the canonical file.
void withProfileBody(ApiServices& services, const ApiRequest& request, Responder respond,
                     std::function<void(ProfileRecord, std::string body, Responder)> then);

// Makes an answer on the pool and gives it on control's thread; 503 when the pool is full.
void answerFromPool(ApiServices& services, std::function<ApiResponse()> make, Responder respond);

}  // namespace flamegate::control
