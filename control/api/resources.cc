#include "control/api/resources.h"

#include <utility>
#include <vector>

#include "control/api/reply.h"

namespace flamegate::control {
namespace {

using agent::Right;
using proxy::Method;

using Serve = void (*)(ApiServices&, ApiRequest&&, Responder);

}  // namespace

Router apiRouter(ApiServices& services) {
  const auto by = [&services](Serve serve) -> Handler {
    return [&services, serve](ApiRequest&& request, Responder respond) {
      serve(services, std::move(request), std::move(respond));
    };
  };
  const auto absent = [](std::string_view what) -> Handler {
    return [what](ApiRequest&&, const Responder& respond) { respond(notAvailableReply(what)); };
  };
  std::vector<Resource> resources = {
      {Method::Get, "api/v1/profiles", Right::View, by(listProfiles)},
      {Method::Get, "api/v1/profiles/*", Right::View, by(showProfile)},
      {Method::Delete, "api/v1/profiles/*", Right::Manage, by(deleteProfile)},
      {Method::Get, "api/v1/profiles/*/download", Right::View, by(downloadProfile)},
      {Method::Get, "api/v1/profiles/*/tree", Right::View, by(showTree)},
      {Method::Get, "api/v1/profiles/*/timeline", Right::View, by(showTimeline)},
      {Method::Post, "api/v1/profiles/*/pin", Right::Manage, by(pinProfile)},
      {Method::Delete, "api/v1/profiles/*/pin", Right::Manage, by(unpinProfile)},
      {Method::Get, "api/v1/pageviews/*", Right::View, by(listPageview)},
      {Method::Get, "api/v1/routes", Right::View, by(listRoutes)},
      {Method::Get, "api/v1/hosts", Right::View, by(listHosts)},
      {Method::Get, "api/v1/status", Right::View, by(showStatus)},

      {Method::Get, "api/v1/campaigns", Right::View, absent("campaigns")},
      {Method::Post, "api/v1/campaigns", Right::Trigger, absent("campaigns")},
      {Method::Get, "api/v1/campaigns/*", Right::View, absent("campaigns")},
      {Method::Patch, "api/v1/campaigns/*", Right::Trigger, absent("campaigns")},
      {Method::Delete, "api/v1/campaigns/*", Right::Trigger, absent("campaigns")},
      {Method::Get, "api/v1/merge", Right::View, absent("merged profiles")},
      {Method::Get, "api/v1/diff", Right::View, absent("differences")},

      {Method::Get, "flamegraph", Right::View, by(redirectToProfile)},
  };
  return Router(std::move(resources), by(showFile), services.public_origin);
}

}  // namespace flamegate::control
