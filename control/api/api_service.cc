#include "control/api/api_service.h"

#include <utility>

#include "control/api/captures.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/api/target.h"

namespace flamegate::control {
namespace {

using proxy::Method;

constexpr std::string_view kInternal = "/internal/";
constexpr std::string_view kCaptures = "/internal/v1/captures";
constexpr std::string_view kMiniProfiler = "/mini-profiler-resources/flamegraph";

bool hasPath(std::string_view target, std::string_view path) {
  return target.substr(0, target.find('?')) == path;
}

ApiRequest toApiRequest(HttpRequest request, Target target, agent::ControlCall caller) {
  ApiRequest api;
  api.method = request.method;
  api.path = std::move(target.path);
  api.query = std::move(target.query);
  api.content_type = request.header("content-type");
  api.if_none_match = request.header("if-none-match");
  api.accept_encoding = request.header("accept-encoding");
  api.origin = request.header("origin");
  api.sec_fetch_site = request.header("sec-fetch-site");
  api.body = std::move(request.body);
  api.caller = std::move(caller);
  return api;
}

}  // namespace

ApiService::ApiService(ApiServices& services, const agent::SessionKeyRing& keys)
    : services_(services), keys_(keys), router_(apiRouter(services)) {}

std::optional<agent::ControlCall> ApiService::verify(const HttpRequest& head) const {
  return agent::verifyCall(head.header("flamegate-call"), head.method_text, head.target,
                           services_.executor.wallNow().time_since_epoch().count(), keys_);
}

HeadVerdict ApiService::onHead(const HttpRequest& head) {
  if (!verify(head)) return {errorReply(403, "unsigned", "this call was not signed"), 0, nullptr};
  const bool captures = hasPath(head.target, kCaptures);
  return {std::nullopt, captures ? kCapturesBytesMax : kBodyBytesMax, nullptr};
}

void ApiService::onRequest(HttpRequest request, Responder respond) {
  const std::string full_target = request.target;
  std::optional<agent::ControlCall> caller = verify(request);
  if (!caller) {
    respond(errorReply(403, "unsigned", "this call was signed too long ago"));
    return;
  }
  const bool internal = full_target.starts_with(kInternal);
  const bool mini_profiler = hasPath(full_target, kMiniProfiler);
  const std::optional<std::string_view> below =
      internal || mini_profiler ? std::string_view(full_target) : belowPrefix(full_target);
  if (!below) {
    respond(notFoundReply("no such resource"));
    return;
  }
  if (below->empty()) {
    ApiResponse response;
    response.status = 308;
    response.addHeader("location", services_.prefix + "/");
    respond(std::move(response));
    return;
  }
  std::optional<Target> target = parseTarget(*below);
  if (!target) {
    respond(errorReply(400, "bad-target", "the path or query is malformed"));
    return;
  }
  ApiRequest api = toApiRequest(std::move(request), std::move(*target), std::move(*caller));
  if (internal) {
    dispatchInternal(std::move(api), std::move(respond));
  } else if (mini_profiler && api.caller.allow.has(agent::Right::View)) {
    redirectKnownProfile(services_, std::move(api), std::move(respond));
  } else if (mini_profiler) {
    respond(notFoundReply("no such profile"));
  } else {
    router_.dispatch(std::move(api), std::move(respond));
  }
}

void ApiService::dispatchInternal(ApiRequest request, Responder respond) {
  const bool posts = request.method == Method::Post;
  const bool gets = request.method == Method::Get;
  const std::string& name = request.path.back();
  if (request.path.size() == 3 && request.path[1] == "v1" && name == "captures" && posts) {
    takeCaptures(services_, std::move(request), std::move(respond));
  } else if (request.path.size() == 3 && request.path[1] == "v1" && name == "rules" && gets) {
    showRules(services_, std::move(request), std::move(respond));
  } else {
    respond(notFoundReply("no such resource"));
  }
}

std::optional<std::string_view> ApiService::belowPrefix(std::string_view target) const {
  const std::string& prefix = services_.prefix;
  if (!target.starts_with(prefix)) return std::nullopt;
  target.remove_prefix(prefix.size());
  if (!target.empty() && target.front() != '/' && target.front() != '?') return std::nullopt;
  if (target.starts_with('?')) return std::string_view();
  return target;
}

}  // namespace flamegate::control
