#include "control/api/profile_lookup.h"

#include <utility>

#include "agent-protocol/wire/profile_id.h"
#include "control/api/list_query.h"
#include "control/api/reply.h"
#include "control/on_loop.h"

namespace flamegate::control {
namespace {

using proxy::Result;

constexpr std::string_view kNoSuchProfile = "no such profile";

std::string missingReason(const ProfileRecord& record) {
  std::string text = "this profile failed";
  if (record.reason) text.append(": ").append(nameOf(*record.reason));
  return text;
}

ApiResponse notSettledReply(const ProfileRecord& record) {
  ApiResponse response =
      errorReply(409, "not-settled", "the profile is still " + std::string(nameOf(record.state)));
  response.addHeader("retry-after", "1");
  return response;
}

}  // namespace

std::string metadataJson(const ProfileRecord& record, const std::string& prefix) {
  ProfileRecord shown = record;
  const std::string self = prefix + "/api/v1/profiles/" + record.id;
  shown.links = {{"self", self}, {"page", prefix + "/p/" + record.id}};
  if (record.state == ProfileState::Stored)
    shown.links.emplace_back("download", self + "/download");
  return toJson(shown);
}

void withProfile(ApiServices& services, const ApiRequest& request, Responder respond,
                 std::function<void(ProfileRecord, Responder)> then) {
  if (!agent::ProfileId::parse(request.captured.front())) {
    respond(notFoundReply(kNoSuchProfile));
    return;
  }
  Millis wait(0);
  if (const std::string* text = request.findQuery("wait")) {
    const std::optional<Millis> parsed = parseWait(*text, kWaitMax);
    if (!parsed) {
      respond(errorReply(400, "bad-wait", "wait must be a duration like 5s"));
      return;
    }
    wait = *parsed;
  }
  services.records.await(
      request.captured.front(), wait,
      [respond = std::move(respond), then = std::move(then)](Result<ProfileRecord> found) mutable {
        if (found) {
          then(std::move(*found), std::move(respond));
        } else if (found.error().code == proxy::ErrorCode::NotFound) {
          respond(notFoundReply(kNoSuchProfile));
        } else {
          respond(errorReply(found.error()));
        }
      });
}

void withProfileBody(ApiServices& services, const ApiRequest& request, Responder respond,
                     std::function<void(ProfileRecord, std::string, Responder)> then) {
  withProfile(services, request, std::move(respond),
              [&services, then = std::move(then)](ProfileRecord record, Responder answer) {
                if (record.state == ProfileState::Failed) {
                  answer(notFoundReply(missingReason(record)));
                  return;
                }
                if (record.state != ProfileState::Stored) {
                  answer(notSettledReply(record));
                  return;
                }
                const std::string id = record.id;
                services.store.body(
                    id, onLoop<std::string>(services.executor,
                                            [record = std::move(record), answer = std::move(answer),
                                             then](Result<std::string> body) {
                                              if (!body) {
                                                answer(errorReply(body.error()));
                                              } else {
                                                then(record, std::move(*body), answer);
                                              }
                                            }));
              });
}

void answerFromPool(ApiServices& services, std::function<ApiResponse()> make, Responder respond) {
  Executor& executor = services.executor;
  const bool accepted = services.pool.submit([&executor, make = std::move(make), respond] {
    executor.post([respond, response = make()]() mutable { respond(std::move(response)); });
  });
  if (accepted) return;
  ApiResponse busy = errorReply(503, "busy", "too much work is waiting at present");
  busy.addHeader("retry-after", "1");
  respond(std::move(busy));
}

}  // namespace flamegate::control
