// GET api/v1/status: the caller's rights, the store, the agents and the work in hand.
#include <utility>

#include <nlohmann/json.hpp>

#include "control/api/agent_service.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/on_loop.h"

namespace flamegate::control {
namespace {

using Json = nlohmann::ordered_json;
using proxy::Result;

Json rightsJson(agent::Rights rights) {
  Json names = Json::array();
  for (const agent::Right right :
       {agent::Right::View, agent::Right::Trigger, agent::Right::Manage}) {
    if (rights.has(right)) names.push_back(agent::formatRights(right));
  }
  return names;
}

Json storeJson(const Result<StoreStats>& stats) {
  if (!stats) return {{"available", false}, {"trouble", stats.error().detail}};
  Json json{{"kind", stats->kind},         {"available", stats->available},
            {"profiles", stats->profiles}, {"pinned", stats->pinned},
            {"bytes", stats->bytes},       {"puts", stats->puts},
            {"failures", stats->failures}, {"queue_refused", stats->queue_refused}};
  json["evicted"] = {{"age", stats->evicted_age},
                     {"bytes", stats->evicted_bytes},
                     {"count", stats->evicted_count}};
  if (stats->oldest) json["oldest"] = toRfc3339(*stats->oldest);
  if (!stats->available) json["trouble"] = stats->trouble;
  return json;
}

Json agentsJson(const AgentsSeen::Sightings& sightings) {
  Json list = Json::array();
  for (const auto& [key, seen] : sightings) {
    Json json{{"agent", key.agent},
              {"runtime", key.runtime},
              {"service", key.service},
              {"first_seen", toRfc3339(seen.first_seen)},
              {"last_seen", toRfc3339(seen.last_seen)},
              {"started", seen.started},
              {"refused", seen.refused},
              {"uploads", seen.uploads},
              {"hellos", seen.hellos}};
    if (!seen.host.empty()) json["host"] = seen.host;
    if (seen.refused > 0) json["latest_refusal"] = agent::ackStateName(seen.latest_refusal);
    list.push_back(std::move(json));
  }
  return list;
}

Json capturesJson(const JoinStats& stats) {
  return {{"live", stats.live},     {"held_parts", stats.held_parts},
          {"stored", stats.stored}, {"failed", stats.failed},
          {"parts", stats.parts},   {"unclaimed", stats.unclaimed}};
}

Json uploadsJson(const UploadStats& stats) {
  Json answers = Json::object();
  for (const auto& [status, count] : stats.answers) answers[std::to_string(status)] = count;
  return {{"answers", std::move(answers)},
          {"bytes", stats.bytes},
          {"open", stats.open},
          {"open_bytes", stats.open_bytes}};
}

}  // namespace

void showStatus(ApiServices& services, ApiRequest&& request, Responder respond) {
  services.store.stats(onLoop<StoreStats>(
      services.executor, [&services, caller = std::move(request.caller),
                          respond = std::move(respond)](const Result<StoreStats>& stats) {
        Json json{{"version", services.version}, {"rights", rightsJson(caller.allow)}};
        if (!caller.holder.empty()) json["name"] = caller.holder;
        json["time"] = toRfc3339(services.executor.wallNow());
        json["store"] = storeJson(stats);
        json["captures"] = capturesJson(services.join.stats());
        json["uploads"] = uploadsJson(services.uploads.stats());
        json["queue"] = {{"jobs", services.pool.queued()}, {"waiting", services.records.waiting()}};
        json["agents"] = agentsJson(services.agents.all());
        respond(jsonReply(200, json.dump(-1, ' ', false, Json::error_handler_t::replace)));
      }));
}

}  // namespace flamegate::control
