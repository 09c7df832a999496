#include "control/api/captures.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "control/api/reply.h"
#include "control/on_loop.h"
#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::Result;

void takeCapture(ApiServices& services, const agent::CaptureRecord& capture) {
  if (capture.phase == agent::CaptureRecord::Phase::End) {
    services.agents.onAck(capture, services.executor.wallNow());
  }
  services.join.onCapture(capture);
}

std::string rulesJson(const std::vector<RevokedToken>& revoked) {
  std::string json = R"({"revoked":[)";
  for (size_t i = 0; i < revoked.size(); ++i) {
    if (i > 0) json.push_back(',');
    json.append(fmt::format(R"({{"jti":{},"until":{}}})", jsonString(revoked[i].jti),
                            revoked[i].until.time_since_epoch().count()));
  }
  json.append("]}");
  return json;
}

}  // namespace

void takeCaptures(ApiServices& services, ApiRequest&& request, Responder respond) {
  std::string_view rest = request.body;
  size_t accepted = 0;
  size_t rejected = 0;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    const Result<agent::CaptureRecord> capture = agent::parseCaptureRecord(line);
    if (!capture) {
      ++rejected;
      proxy::logWarning("captures", capture.error().detail);
      continue;
    }
    ++accepted;
    takeCapture(services, *capture);
  }
  respond(jsonReply(200, fmt::format(R"({{"accepted":{},"rejected":{}}})", accepted, rejected)));
}

void showRules(ApiServices& services, ApiRequest&&, Responder respond) {
  if (services.join.storeFull()) {
    respond(errorReply(507, "store-full", "the store has no room"));
    return;
  }
  services.store.revoked(onLoop<std::vector<RevokedToken>>(
      services.executor, [respond = std::move(respond)](Result<std::vector<RevokedToken>> revoked) {
        respond(revoked ? jsonReply(200, rulesJson(*revoked)) : errorReply(revoked.error()));
      }));
}

}  // namespace flamegate::control
