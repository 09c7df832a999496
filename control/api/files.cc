// The console's pages and everything that they and the badge load.
#include <optional>
#include <utility>

#include "agent-protocol/wire/profile_id.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "proxy/base/strings.h"
#include "ui/assets.h"

namespace flamegate::control {
namespace {

// "a/b" of the segments; nothing when one of them holds a slash, which no file's name does.
std::optional<std::string> joinPath(const std::vector<std::string>& segments) {
  std::string path;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].find('/') != std::string::npos) return std::nullopt;
    if (i > 0) path.push_back('/');
    path.append(segments[i]);
  }
  return path;
}

// RFC 9110 §13.1.2; our validators are strong, the comparison is weak.
bool matchesEtag(std::string_view if_none_match, std::string_view etag) {
  bool matches = false;
  proxy::forEachElement(if_none_match, [&](std::string_view element) {
    if (element.starts_with("W/")) element.remove_prefix(2);
    matches = element == etag || element == "*";
    return !matches;
  });
  return matches;
}

// Whether the list holds `gzip` (or `*`) with a weight other than 0 (RFC 9110 §12.5.3).
bool acceptsGzip(std::string_view accept_encoding) {
  bool accepts = false;
  proxy::forEachElement(accept_encoding, [&](std::string_view element) {
    const size_t semicolon = element.find(';');
    const std::string_view coding = proxy::trimBlanks(element.substr(0, semicolon));
    if (!proxy::equalIgnoreCase(coding, "gzip") && coding != "*") return true;
    const std::string_view weight =
        semicolon == std::string_view::npos ? "" : proxy::trimBlanks(element.substr(semicolon + 1));
    accepts = weight.find_first_not_of("q=0. ") != std::string_view::npos || weight.empty();
    return coding == "*";  // a weight of its own counts more
  });
  return accepts;
}

void addFileHeaders(ApiResponse& response, std::string_view content_type, std::string_view etag,
                    std::string_view cache_control, ui::AssetKind kind) {
  response.addHeader("content-type", content_type);
  response.addHeader("etag", etag);
  response.addHeader("cache-control", cache_control);
  response.addHeader("content-security-policy", ui::contentSecurityPolicy(kind));
  response.addHeader("x-content-type-options", "nosniff");
  response.addHeader("referrer-policy", "no-referrer");
}

ApiResponse pageReply(const ui::ConsolePage& page, const ApiRequest& request) {
  ApiResponse response;
  addFileHeaders(response, "text/html; charset=utf-8", page.etag, "no-cache",
                 ui::AssetKind::Console);
  if (matchesEtag(request.if_none_match, page.etag)) {
    response.status = 304;
  } else {
    response.body = Body::fromStatic(page.body);
  }
  return response;
}

ApiResponse assetReply(const ui::Asset& asset, const ApiRequest& request) {
  const bool gzip = !asset.gzip.empty() && acceptsGzip(request.accept_encoding);
  const std::string_view etag = gzip ? asset.gzip_etag : asset.etag;
  ApiResponse response;
  addFileHeaders(response, asset.content_type, etag, ui::cacheControl(asset), asset.kind);
  if (!asset.gzip.empty()) response.addHeader("vary", "accept-encoding");
  if (matchesEtag(request.if_none_match, etag)) {
    response.status = 304;
    return response;
  }
  if (gzip) response.addHeader("content-encoding", "gzip");
  response.body = Body::fromStatic(gzip ? asset.gzip : asset.body);
  return response;
}

}  // namespace

void showFile(ApiServices& services, ApiRequest&& request, Responder respond) {
  const std::optional<std::string> path = joinPath(request.path);
  const ui::Asset* const asset = path ? ui::findAsset(*path) : nullptr;
  if (asset != nullptr) {
    respond(assetReply(*asset, request));
  } else if (path && ui::isConsolePath(*path)) {
    respond(pageReply(services.page, request));
  } else {
    respond(notFoundReply("no such resource"));
  }
}

void redirectToProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  const std::string* const id = request.findQuery("id");
  if (id == nullptr || !agent::ProfileId::parse(*id)) {
    respond(notFoundReply("no such profile"));
    return;
  }
  ApiResponse response;
  response.status = 303;
  response.addHeader("location", services.prefix + "/p/" + *id);
  response.addHeader("cache-control", "no-store");
  response.addHeader("referrer-policy", "no-referrer");
  respond(std::move(response));
}

void redirectKnownProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  const std::string* const id = request.findQuery("id");
  if (id == nullptr || !agent::ProfileId::parse(*id)) {
    respond(notFoundReply("no such profile"));
    return;
  }
  services.records.find(
      *id, [&services, request = std::move(request),
            respond = std::move(respond)](const proxy::Result<ProfileRecord>& found) mutable {
        if (found) {
          redirectToProfile(services, std::move(request), respond);
        } else {
          respond(errorReply(found.error()));
        }
      });
}

}  // namespace flamegate::control
