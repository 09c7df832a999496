// Which route a request takes. Immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/config.h"
#include "proxy/base/result.h"
#include "proxy/http/head.h"

namespace re2 {
class RE2;
}

namespace flamegate::proxy {

// The host part of an authority, without port: "[::1]:80" gives "[::1]".
std::string_view hostOf(std::string_view authority);

// Owner: a Snapshot. Thread: any, read only.
class Router {
 public:
  // Errors: Config, when an expression does not compile.
  static Result<std::unique_ptr<Router>> create(const std::vector<config::Route>& routes);
  ~Router();

  // The index of the first route whose conditions all hold; nothing if there is none. `path` is in
  // normal form.
  std::optional<size_t> find(const RequestHead& head, std::string_view path) const;

  // The target as it is forwarded: as it is, or where the route has a rewrite, that applied to the normal form
  // of the path, which is what matched. The view is the head's target, or one into `memory`.
  std::string_view rewrite(size_t route, std::string_view target, std::string_view normal_path,
                           std::string& memory) const;

  // Whether some route is for this host, by name or because it is for any.
  bool servesHost(std::string_view host) const;

 private:
  struct Entry;
  Router() = default;

  std::vector<std::unique_ptr<Entry>> entries_;
  bool catches_all_ = false;  // the first route has no condition
};

}  // namespace flamegate::proxy
