// GET api/v1/profiles, and for one of them GET, DELETE, POST and DELETE pin.
#include <utility>

#include "agent-protocol/wire/profile_id.h"
#include "control/api/list_query.h"
#include "control/api/profile_lookup.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/on_loop.h"

namespace flamegate::control {
namespace {

using proxy::Result;

std::string pageJson(const ListPage& page, const std::string& prefix) {
  std::string json = R"({"profiles":[)";
  for (size_t i = 0; i < page.records.size(); ++i) {
    if (i > 0) json.push_back(',');
    json.append(metadataJson(page.records[i], prefix));
  }
  json.append(R"(],"total":)").append(std::to_string(page.total));
  if (!page.next.empty()) json.append(R"(,"next":)").append(jsonString(page.next));
  json.push_back('}');
  return json;
}

// A callback for pin and unpin.
Done<ProfileRecord> showChanged(ApiServices& services, Responder respond) {
  return onLoop<ProfileRecord>(
      services.executor, [&services, respond = std::move(respond)](Result<ProfileRecord> changed) {
        if (changed) {
          respond(jsonReply(200, metadataJson(*changed, services.prefix)));
        } else if (changed.error().code == proxy::ErrorCode::Unsupported) {
          respond(errorReply(409, "pins-off", "pins are switched off by store.retention.pinned"));
        } else {
          respond(errorReply(changed.error()));
        }
      });
}

// What does not have an id's form cannot be known.
bool refuseForeignId(const std::string& id, const Responder& respond) {
  if (agent::ProfileId::parse(id)) return false;
  respond(notFoundReply("no such profile"));
  return true;
}

}  // namespace

void listProfiles(ApiServices& services, ApiRequest&& request, Responder respond) {
  Result<ListQuery> query = parseListQuery(request);
  if (!query) {
    respond(errorReply(query.error()));
    return;
  }
  services.store.list(std::move(*query),
                      onLoop<ListPage>(services.executor, [&services, respond = std::move(respond)](
                                                              Result<ListPage> page) {
                        if (page) {
                          respond(jsonReply(200, pageJson(*page, services.prefix)));
                        } else {
                          respond(errorReply(page.error()));
                        }
                      }));
}

void showProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  withProfile(services, request, std::move(respond),
              [&services](const ProfileRecord& record, const Responder& answer) {
                answer(jsonReply(200, metadataJson(record, services.prefix)));
              });
}

void deleteProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  std::string id = std::move(request.captured.front());
  if (refuseForeignId(id, respond)) return;
  services.store.erase(id,
                       onLoop<void>(services.executor,
                                    [&services, id, respond = std::move(respond)](Result<> erased) {
                                      if (!erased) {
                                        respond(errorReply(erased.error()));
                                        return;
                                      }
                                      services.join.onErased(id);
                                      respond(noContentReply());
                                    }));
}

void pinProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  std::string id = std::move(request.captured.front());
  if (refuseForeignId(id, respond)) return;
  services.store.pin(std::move(id), showChanged(services, std::move(respond)));
}

void unpinProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  std::string id = std::move(request.captured.front());
  if (refuseForeignId(id, respond)) return;
  services.store.unpin(std::move(id), showChanged(services, std::move(respond)));
}

}  // namespace flamegate::control
