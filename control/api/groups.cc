// GET api/v1/routes and api/v1/hosts: how many profiles there are of each, and how long they took.
#include <utility>

#include <fmt/core.h>

#include "control/api/list_query.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/on_loop.h"

namespace flamegate::control {
namespace {

using proxy::Result;

double toMs(Micros micros) { return static_cast<double>(micros.count()) / 1000; }

std::string groupJson(const Group& group) {
  const auto count = static_cast<double>(std::max<uint64_t>(group.profiles, 1));
  return fmt::format(
      R"({{"name":{},"profiles":{},"stored":{},"latest":"{}","mean_ms":{:.3f},"max_ms":{:.3f}}})",
      jsonString(group.name), group.profiles, group.stored, toRfc3339(group.latest),
      toMs(group.duration_sum) / count, toMs(group.duration_max));
}

std::string groupsJson(std::string_view member, const std::vector<Group>& groups) {
  std::string json = fmt::format(R"({{"{}":[)", member);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) json.push_back(',');
    json.append(groupJson(groups[i]));
  }
  json.append("]}");
  return json;
}

void listGroups(ApiServices& services, const ApiRequest& request, Responder respond, GroupBy by,
                std::string_view member) {
  Result<ListQuery> query = parseListQuery(request);
  if (!query) {
    respond(errorReply(query.error()));
    return;
  }
  const size_t limit = request.findQuery("limit") != nullptr ? query->limit : kListLimitMax;
  services.store.groups(
      by, std::move(*query), limit,
      onLoop<std::vector<Group>>(services.executor, [member, respond = std::move(respond)](
                                                        Result<std::vector<Group>> groups) {
        respond(groups ? jsonReply(200, groupsJson(member, *groups)) : errorReply(groups.error()));
      }));
}

}  // namespace

void listRoutes(ApiServices& services, ApiRequest&& request, Responder respond) {
  listGroups(services, request, std::move(respond), GroupBy::Route, "routes");
}

void listHosts(ApiServices& services, ApiRequest&& request, Responder respond) {
  listGroups(services, request, std::move(respond), GroupBy::Host, "hosts");
}

}  // namespace flamegate::control
