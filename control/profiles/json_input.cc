#include "control/profiles/json_input.h"

#include <algorithm>
#include <cmath>

#include "control/profiles/limits.h"

namespace flamegate::control {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr ptrdiff_t kJsonValuesMax = 4'000'000;

}  // namespace

proxy::Result<json> parseJson(std::string_view bytes) {
  if (bytes.size() > kInflatedBytesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, "more than 32 MiB");
  }
  const auto separates = [](char c) { return c == ',' || c == '[' || c == '{'; };
  if (std::ranges::count_if(bytes, separates) > kJsonValuesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, "more than 4,000,000 JSON values");
  }
  try {
    return json::parse(bytes);
  } catch (const json::parse_error& error) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent,
                       "no JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const json::exception&) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, "a number is out of range");
  }
}

const json& memberOf(const json& value, const char* name) {
  static const json kNull;
  if (!value.is_object()) return kNull;
  const auto found = value.find(name);
  return found == value.end() ? kNull : *found;
}

std::string_view textOf(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text == nullptr ? std::string_view{} : std::string_view(*text);
}

int64_t integerOf(const json& value, int64_t absent) {
  if (value.is_number_unsigned()) {
    return static_cast<int64_t>(std::min<uint64_t>(value.get<uint64_t>(), INT64_MAX));
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  return value.is_number() ? roundToInteger(value.get<double>()) : absent;
}

double realOf(const json& value, double absent) {
  return value.is_number() ? value.get<double>() : absent;
}

int64_t roundToInteger(double value) {
  constexpr double kLimit = 9.2e18;
  if (std::isnan(value)) return 0;
  return std::llround(std::clamp(value, -kLimit, kLimit));
}

}  // namespace flamegate::control
