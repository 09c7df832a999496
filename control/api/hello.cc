// POST /agent/v1/hello/INSTANCE: agents report themselves and wait for settings. This version has
// none to give, so a hello is held and then answered 204.
#include <utility>

#include <nlohmann/json.hpp>

#include "control/api/agent_service.h"
#include "control/api/reply.h"

namespace flamegate::control {
namespace {

using nlohmann::json;

constexpr size_t kTextBytesMax = 128;

std::string textOf(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return {};
  return at->get<std::string>().substr(0, kTextBytesMax);
}

void signReply(ApiResponse& response, const std::string& nonce, const agent::AgentKeys& keys) {
  const agent::AnswerAuth auth = agent::signAnswer(nonce, response.body.view(), keys);
  response.addHeader("flamegate-auth", auth.format());
}

}  // namespace

void AgentService::hello(HttpRequest request, Responder respond) {
  const agent::UploadAuth auth = *agent::parseUploadAuth(request.header("flamegate-auth"));
  const proxy::Sha256 hash = proxy::sha256(request.body);
  const agent::UploadFacts facts{"POST", request.target, proxy::asView(hash), {}};
  const agent::AgentKeys* keys = keys_.verify(auth, facts, nowMs());
  request.lease.reset();
  if (keys == nullptr) {
    respond(errorReply(401, "unsigned", "Flamegate-Auth is wrong"));
    return;
  }
  const json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) {
    respond(errorReply(400, "malformed", "a hello is a JSON object"));
    return;
  }
  agents_.onHello({textOf(body, "agent"), textOf(body, "runtime"), textOf(body, "service")},
                  textOf(body, "host"), executor_.wallNow());
  holdHello(auth.nonce, *keys, std::move(respond));
}

void AgentService::holdHello(std::string nonce, const agent::AgentKeys& keys, Responder respond) {
  if (hellos_.size() >= kHellosMax) {
    ApiResponse response = jsonReply(200, R"({"backoff_ms":60000})");
    signReply(response, nonce, keys);
    respond(std::move(response));
    return;
  }
  const uint64_t id = ++last_hello_;
  hellos_[id] = executor_.runAfter(
      kHelloHeld, [this, id, nonce = std::move(nonce), &keys, respond = std::move(respond)] {
        hellos_.erase(id);
        ApiResponse response = noContentReply();
        signReply(response, nonce, keys);
        respond(std::move(response));
      });
}

}  // namespace flamegate::control
