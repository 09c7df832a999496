// GET api/v1/profiles/ID/tree and …/timeline: what the viewer draws.
#include <memory>
#include <optional>
#include <utility>

#include "control/api/profile_lookup.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/profiles/pprof.h"
#include "control/profiles/timeline.h"
#include "control/profiles/tree.h"
#include "proxy/base/strings.h"

namespace flamegate::control {
namespace {

using proxy::Result;
using Render = std::function<std::string(const Profile&)>;

ApiResponse renderReply(const std::string& body, const Render& render) {
  const Result<Profile> profile = decodePprof(body);
  if (!profile) return errorReply(500, "undecodable", "the stored profile cannot be read");
  return jsonReply(200, render(*profile));
}

void showView(ApiServices& services, const ApiRequest& request, Responder respond, Render render) {
  withProfileBody(services, request, std::move(respond),
                  [&services, render = std::move(render)](const ProfileRecord&, std::string body,
                                                          Responder answer) {
                    answerFromPool(
                        services,
                        [render, body = std::move(body)] { return renderReply(body, render); },
                        std::move(answer));
                  });
}

}  // namespace

void showTree(ApiServices& services, ApiRequest&& request, Responder respond) {
  size_t nodes = kTreeNodesDefault;
  if (const std::string* text = request.findQuery("nodes")) {
    const auto parsed = proxy::parseDecimal(*text);
    if (!parsed || *parsed < 2 || *parsed > kTreeNodesMax) {
      respond(errorReply(400, "bad-nodes", "nodes must be 2 to 200000"));
      return;
    }
    nodes = static_cast<size_t>(*parsed);
  }
  const std::string* const value = request.findQuery("value");
  showView(services, request, std::move(respond),
           [nodes, type = value == nullptr ? std::string() : *value](const Profile& profile) {
             TreeOptions options;
             options.nodes_max = nodes;
             options.value = type;
             return treeJson(profile, options);
           });
}

void showTimeline(ApiServices& services, ApiRequest&& request, Responder respond) {
  showView(services, request, std::move(respond), timelineJson);
}

}  // namespace flamegate::control
