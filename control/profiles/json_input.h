// What the importers of JSON formats share: a bounded parse and readers that never throw.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proxy/base/result.h"

namespace flamegate::control {

// Refuses what is not JSON, more than kInflatedBytesMax bytes, and more values than a document of
// samples has: a parsed value takes many times the bytes of its text.
proxy::Result<nlohmann::json> parseJson(std::string_view bytes);

// The member, or null when the value is no object or has none of that name.
const nlohmann::json& memberOf(const nlohmann::json& value, const char* name);

// The text, or "" when the value is none. Lives as long as the value.
std::string_view textOf(const nlohmann::json& value);
// The number, rounded and kept within range, or `absent`.
int64_t integerOf(const nlohmann::json& value, int64_t absent = 0);
double realOf(const nlohmann::json& value, double absent = 0);

// The nearest integer within range; 0 for what is not a number.
int64_t roundToInteger(double value);

}  // namespace flamegate::control
