#include "proxy/filters/session_endpoint.h"

#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent-protocol/token/session_cookie.h"
#include "proxy/base/strings.h"
#include "proxy/profiling/own_cookies.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kBodyBytesMax = 1024;

// The other half of the cross-site defence is that rights from an address need a same-origin caller.
bool isForeignCaller(const RequestHead& head, bool secure) {
  const auto site = head.fields.findSingle(HeaderId::SecFetchSite);
  if (head.fields.has(HeaderId::SecFetchSite) &&
      (!site || (*site != "same-origin" && *site != "none"))) {
    return true;
  }
  if (!head.fields.has(HeaderId::Origin)) return false;
  const auto origin = head.fields.findSingle(HeaderId::Origin);
  return !origin || !ofSameOrigin(*origin, head.authority, secure);
}

bool isJson(const RequestHead& head) {
  const auto type = head.fields.findSingle(HeaderId::ContentType);
  return type && equalIgnoreCase(trimBlanks(type->substr(0, type->find(';'))), "application/json");
}

std::string rfc3339(int64_t unix_seconds) {
  const time_t seconds = unix_seconds;
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, size};
}

// The minutes that the body asks for; nothing when it is not {"minutes":N} with N in the range.
std::optional<int64_t> parseMinutes(const std::string& body, int64_t minutes_max) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto minutes = json.find("minutes");
  if (minutes == json.end() || !minutes->is_number_integer()) return std::nullopt;
  const auto value = minutes->get<int64_t>();
  if (value < 1 || value > minutes_max) return std::nullopt;
  return value;
}

// False until the whole body is there; then, or when it is over the limit, true.
bool readBody(Exchange& exchange, std::string& body) {
  ServerStream& stream = exchange.stream();
  while (!stream.requestEnded() && body.size() <= kBodyBytesMax) {
    const std::string_view content = stream.content();
    if (content.empty()) return false;
    body.append(content.substr(0, kBodyBytesMax + 1));
    stream.consume(content.size());
  }
  return true;
}

Verdict beginSession(ProfiledRequest& request, int64_t minutes, const config::Profiling& profiling,
                     const ProfilingSetup& setup, ProfilingRuntime& runtime) {
  const auto lifetime = std::chrono::minutes(minutes);
  const uint32_t requests = profiling.session.requests;
  const std::string id =
      runtime.sessions.open(lifetime, requests, std::nullopt, monotonicNow());
  const std::string value = agent::sessionCookieValue(id, setup.sessionKeys().current());
  const int64_t expires = unixMillis() / 1000 + std::chrono::seconds(lifetime).count();
  return Verdict::answer(
      {.status = 201,
       .reason = "session",
       .content_type = "application/json",
       .body = R"({"expires_at":")" + rfc3339(expires) + R"(","requests":)" +
               std::to_string(requests) + "}\n",
       .fields = {{"Set-Cookie", agent::sessionSetCookie(value, lifetime, request.secure)},
                  {"Cache-Control", "no-store"}}});
}

Verdict endSession(Exchange& exchange, ProfiledRequest& request, const ProfilingSetup& setup,
                   ProfilingRuntime& runtime) {
  const OwnCookies cookies = readOwnCookies(exchange.request().fields, setup.sessionKeys());
  if (!cookies.session_id.empty()) runtime.sessions.end(cookies.session_id);
  return Verdict::answer(
      {.status = 204,
       .reason = "session",
       .fields = {{"Set-Cookie",
                   agent::sessionSetCookie("", std::chrono::seconds(0), request.secure)},
                  {"Cache-Control", "no-store"}}});
}

}  // namespace

LocalReply jsonError(uint16_t status, std::string_view code, std::string_view message) {
  std::string body = R"({"error":{"code":")";
  body.append(code).append(R"(","message":")").append(message).append("\"}}\n");
  return {.status = status,
          .reason = code,
          .content_type = "application/json",
          .body = std::move(body),
          .fields = {{"Cache-Control", "no-store"}}};
}

Verdict serveSession(Exchange& exchange, ProfiledRequest& request, const ProfilingSetup& setup,
                     ProfilingRuntime& runtime) {
  const RequestHead& head = exchange.request();
  if (!request.rights.has(agent::Right::Trigger)) {
    return Verdict::answer(jsonError(403, "forbidden", "this needs the right to trigger"));
  }
  if (isForeignCaller(head, request.secure)) {
    return Verdict::answer(jsonError(403, "cross-site", "the caller is of another origin"));
  }
  if (head.method == Method::Delete) return endSession(exchange, request, setup, runtime);
  if (!isJson(head)) {
    return Verdict::answer(jsonError(415, "not-json", "the body has to be application/json"));
  }
  request.stage = ProfiledRequest::Stage::ReadSessionBody;
  if (!readBody(exchange, request.session_body)) return Verdict::wait();
  const config::Profiling& profiling = exchange.config().profiling;
  const auto minutes_max =
      std::chrono::duration_cast<std::chrono::minutes>(profiling.session.max).count();
  const auto minutes = parseMinutes(request.session_body, minutes_max);
  if (!minutes) {
    return Verdict::answer(jsonError(400, "bad-request", "minutes is missing or out of range"));
  }
  return beginSession(request, *minutes, profiling, setup, runtime);
}

std::string openTokenSession(const Exchange& exchange, const agent::TokenClaims& claims, bool secure,
                             const ProfilingSetup& setup, ProfilingRuntime& runtime) {
  const config::SessionLimits& limits = exchange.config().profiling.session;
  const auto left = std::chrono::seconds(claims.expires_at_s - unixMillis() / 1000);
  const auto lifetime =
      std::min(left, std::chrono::duration_cast<std::chrono::seconds>(limits.max));
  const std::string id = runtime.sessions.open(
      lifetime, limits.requests,
      SessionGrant{claims.allow, claims.holder, claims.jti, claims.host, claims.expires_at_s},
      monotonicNow());
  return agent::sessionSetCookie(
      agent::sessionCookieValue(id, setup.sessionKeys().current()), lifetime, secure);
}

}  // namespace flamegate::proxy
