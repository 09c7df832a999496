// The answers that every resource gives: JSON, the error form, nothing.
#pragma once

#include <string>
#include <string_view>

#include "control/api/exchange.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// `application/json`, `no-store`, `nosniff`.
ApiResponse jsonReply(std::uint16_t status, std::string json);

// {"error":{"code":CODE,"message":MESSAGE}}. The message is shown to people and holds no secret.
ApiResponse errorReply(std::uint16_t status, std::string_view code, std::string_view message);

// The fitting status for a failure of the store or of a decoder; 503 store-unavailable with
// Retry-After when the store is away.
ApiResponse errorReply(const proxy::Error& error);

ApiResponse notFoundReply(std::string_view message);
// 501 not-available: the resource belongs to the interface, this build does not serve it.
ApiResponse notAvailableReply(std::string_view what);
ApiResponse noContentReply();

// JSON text for a string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string jsonString(std::string_view text);

}  // namespace flamegate::control
