// The list's query pairs as the store's question.
#pragma once

#include <optional>
#include <string_view>

#include "control/api/exchange.h"
#include "control/store/record.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// Filters, sort, limit and cursor. An empty value filters nothing, unknown names are ignored.
// Errors: Malformed with a sentence for the client.
proxy::Result<ListQuery> parseListQuery(const ApiRequest& request);

// "5s", "250ms", "0"; more than `max` is clamped to it.
std::optional<Millis> parseWait(std::string_view text, Millis max);

}  // namespace flamegate::control
