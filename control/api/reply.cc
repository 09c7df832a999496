#include "control/api/reply.h"

#include <nlohmann/json.hpp>

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

std::uint16_t statusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::Malformed:
      return 400;
    case ErrorCode::TooLarge:
      return 413;
    case ErrorCode::Unsupported:
      return 415;
    case ErrorCode::Refused:
      return 403;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
      return 409;
    case ErrorCode::Full:
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
      return 503;
    case ErrorCode::Closed:
    case ErrorCode::Reset:
    case ErrorCode::Io:
    case ErrorCode::Untrusted:
    case ErrorCode::Handshake:
      return 500;
  }
  return 500;
}

}  // namespace

ApiResponse jsonReply(std::uint16_t status, std::string json) {
  ApiResponse response;
  response.status = status;
  response.addHeader("content-type", "application/json");
  response.addHeader("cache-control", "no-store");
  response.addHeader("x-content-type-options", "nosniff");
  response.body = Body(std::move(json));
  return response;
}

ApiResponse errorReply(std::uint16_t status, std::string_view code, std::string_view message) {
  std::string json = R"({"error":{"code":)";
  json.append(jsonString(code)).append(R"(,"message":)").append(jsonString(message)).append("}}");
  return jsonReply(status, std::move(json));
}

ApiResponse errorReply(const proxy::Error& error) {
  if (error.source == ErrorSource::Store && statusOf(error.code) >= 500) {
    ApiResponse response =
        errorReply(503, "store-unavailable", "the store cannot be reached at present");
    response.addHeader("retry-after", "1");
    return response;
  }
  return errorReply(statusOf(error.code), proxy::errorCodeName(error.code), error.detail);
}

ApiResponse notFoundReply(std::string_view message) {
  return errorReply(404, "not-found", message);
}

ApiResponse notAvailableReply(std::string_view what) {
  return errorReply(501, "not-available", std::string(what) + " are not available in this version");
}

ApiResponse noContentReply() {
  ApiResponse response;
  response.status = 204;
  response.addHeader("cache-control", "no-store");
  return response;
}

std::string jsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace flamegate::control
