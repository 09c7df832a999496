#include "control/api/router.h"

#include <optional>

#include "control/api/reply.h"
#include "proxy/base/strings.h"

namespace flamegate::control {
namespace {

using proxy::Method;

std::vector<std::string_view> splitPath(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

// What stood in the place of the stars; nothing when the path is another.
std::optional<std::vector<std::string>> matchPath(const std::vector<std::string_view>& segments,
                                                  const std::vector<std::string>& path) {
  if (segments.size() != path.size()) return std::nullopt;
  std::vector<std::string> captured;
  for (size_t i = 0; i < path.size(); ++i) {
    if (segments[i] == "*" && !path[i].empty()) {
      captured.push_back(path[i]);
    } else if (segments[i] != path[i]) {
      return std::nullopt;
    }
  }
  return captured;
}

std::string_view methodName(Method method) {
  switch (method) {
    case Method::Get:
      return "GET, HEAD";
    case Method::Post:
      return "POST";
    case Method::Patch:
      return "PATCH";
    case Method::Delete:
      return "DELETE";
    default:
      return "";
  }
}

bool changesSomething(Method method) { return method != Method::Get && method != Method::Head; }

ApiResponse methodNotAllowed(std::string_view allowed) {
  ApiResponse response =
      errorReply(405, "method-not-allowed", "this resource does not know that method");
  response.addHeader("allow", allowed);
  return response;
}

}  // namespace

Router::Router(std::vector<Resource> resources, Handler files, std::string public_origin)
    : files_(std::move(files)), public_origin_(std::move(public_origin)) {
  entries_.reserve(resources.size());
  for (Resource& resource : resources) {
    std::vector<std::string_view> segments = splitPath(resource.path);
    entries_.push_back({std::move(segments), std::move(resource)});
  }
}

std::optional<ApiResponse> Router::refuse(const ApiRequest& request,
                                          const Resource& resource) const {
  if (!request.caller.allow.has(resource.right)) {
    return errorReply(403, "forbidden",
                      "this needs the right \"" + agent::formatRights(resource.right) + "\"");
  }
  if (!changesSomething(request.method)) return std::nullopt;
  if (comesFromForeignPage(request, public_origin_)) {
    return errorReply(403, "cross-site", "changes are accepted from flamegate's own pages only");
  }
  if (!request.body.empty() && !isJsonMediaType(request.content_type)) {
    return errorReply(415, "not-json", "the body must be application/json");
  }
  return std::nullopt;
}

void Router::dispatch(ApiRequest request, Responder respond) const {
  if (request.caller.allow.none()) {
    respond(errorReply(403, "forbidden", "no rights here"));
    return;
  }
  const Method method = request.method == Method::Head ? Method::Get : request.method;
  std::string allowed;
  bool may_use_path = false;
  for (const Entry& entry : entries_) {
    std::optional<std::vector<std::string>> captured = matchPath(entry.segments, request.path);
    if (!captured) continue;
    may_use_path = may_use_path || request.caller.allow.has(entry.resource.right);
    if (entry.resource.method != method) {
      allowed.append(allowed.empty() ? "" : ", ").append(methodName(entry.resource.method));
      continue;
    }
    if (std::optional<ApiResponse> refusal = refuse(request, entry.resource)) {
      respond(std::move(*refusal));
      return;
    }
    request.captured = std::move(*captured);
    entry.resource.handle(std::move(request), std::move(respond));
    return;
  }
  if (!allowed.empty()) {
    // Only to whom the resource is open does it say what it knows.
    respond(may_use_path ? methodNotAllowed(allowed)
                         : errorReply(403, "forbidden", "this needs another right"));
    return;
  }
  dispatchFile(std::move(request), std::move(respond));
}

void Router::dispatchFile(ApiRequest request, Responder respond) const {
  const bool reads = request.method == Method::Get || request.method == Method::Head;
  if (!reads) {
    respond(notFoundReply("no such resource"));
  } else if (!request.caller.allow.has(agent::Right::View)) {
    respond(errorReply(403, "forbidden", "this needs the right \"view\""));
  } else {
    files_(std::move(request), std::move(respond));
  }
}

bool comesFromForeignPage(const ApiRequest& request, std::string_view public_origin) {
  const std::string& site = request.sec_fetch_site;
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  const std::string& origin = request.origin;
  if (origin.empty()) return false;
  const std::string own = (request.caller.secure ? "https://" : "http://") + request.caller.site;
  const bool is_public = !public_origin.empty() && proxy::equalIgnoreCase(origin, public_origin);
  return !is_public && !proxy::equalIgnoreCase(origin, own);
}

bool isJsonMediaType(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return proxy::equalIgnoreCase(proxy::trimBlanks(type), "application/json");
}

}  // namespace flamegate::control
