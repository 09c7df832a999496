// From a request to the one resource that answers it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/api/exchange.h"

namespace flamegate::control {

// What a resource does. It answers through the responder, once.
using Handler = std::function<void(ApiRequest&&, Responder)>;

struct Resource {
  proxy::Method method;
  std::string_view path;  // segments as they stand in the URL; `*` takes any one segment
  agent::Right right;
  Handler handle;
};

// Picks the resource, after the checks that every resource shares. In order: no right at all 403;
// unknown path 404; other method 405 with Allow; the right missing 403; and for what changes
// something: from a foreign page 403, a body that is not JSON 415.
// Owner: the API. Thread: control's. Immutable.
class Router {
 public:
  // `files` answers GET of what no resource has, for those who may view.
  // `public_origin`: scheme://host[:port] of the configured public URL, or empty; changes from its
  // pages are accepted beside those from the site's own.
  Router(std::vector<Resource> resources, Handler files, std::string public_origin);

  // HEAD is answered as GET; the server leaves the body out.
  void dispatch(ApiRequest request, Responder respond) const;

 private:
  struct Entry {
    std::vector<std::string_view> segments;
    Resource resource;
  };

  std::optional<ApiResponse> refuse(const ApiRequest& request, const Resource& resource) const;

  void dispatchFile(ApiRequest request, Responder respond) const;

  const Handler files_;
  const std::string public_origin_;
  std::vector<Entry> entries_;
};

// Whether a browser sent this from a page that is not ours: an Origin other than the site's own and
// the public one, or a Sec-Fetch-Site other than `same-origin` and `none`.
bool comesFromForeignPage(const ApiRequest& request, std::string_view public_origin);

// `application/json`, with or without parameters.
bool isJsonMediaType(std::string_view content_type);

}  // namespace flamegate::control
