#include "agent-protocol/wire/meta.h"

#include "agent-protocol/wire/json_fields.h"
#include "proxy/base/encoding.h"

namespace flamegate::agent {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr size_t kNameBytesMax = 128;
constexpr size_t kRouteBytesMax = 1024;

void putText(json& object, const char* key, const std::string& text, size_t bytes_max) {
  if (!text.empty()) object[key] = cleanText(text, bytes_max);
}

void putNumber(json& object, const char* key, const std::optional<uint64_t>& number) {
  if (number) object[key] = *number;
}

}  // namespace

proxy::Result<UploadMeta> parseMeta(std::string_view field) {
  UploadMeta meta;
  if (field.empty()) return meta;
  if (field.size() > kMetaBytesMax * 4 / 3 + 1) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, "Flamegate-Meta is over 4 KiB");
  }
  const auto text = proxy::fromBase64Url(field);
  const auto object = text ? parseJsonObject(*text) : std::nullopt;
  if (!object) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent,
                       "Flamegate-Meta is not a JSON object in base64url");
  }
  JsonFields fields(*object);
  fields.readText("agent", kNameBytesMax, meta.agent);
  fields.readText("runtime", kNameBytesMax, meta.runtime);
  fields.readText("host", kNameBytesMax * 2, meta.host);
  fields.readText("attribution", kNameBytesMax, meta.attribution);
  fields.readText("route", kRouteBytesMax, meta.route);
  fields.readNumber("pid", meta.pid);
  fields.readNumber("start_unix_ns", meta.start_unix_ns);
  fields.readNumber("end_unix_ns", meta.end_unix_ns);
  fields.readNumber("period_us", meta.period_us);
  fields.readNumber("measured_period_us", meta.measured_period_us);
  fields.readNumber("overhead_ns", meta.overhead_ns);
  fields.readFlag("truncated", meta.truncated);
  if (const json* ticks = fields.findObject("ticks")) {
    JsonFields counts(*ticks);
    Ticks& read = meta.ticks.emplace();
    counts.readNumber("expected", read.expected);
    counts.readNumber("taken", read.taken);
    counts.readNumber("missed", read.missed);
    if (!counts.ok()) fields.reject();
  }
  if (!fields.ok()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent,
                       "a member of Flamegate-Meta has the wrong type or size");
  }
  return meta;
}

std::string formatMeta(const UploadMeta& meta) {
  json object = json::object();
  putText(object, "agent", meta.agent, kNameBytesMax);
  putText(object, "runtime", meta.runtime, kNameBytesMax);
  putText(object, "host", meta.host, kNameBytesMax * 2);
  putText(object, "attribution", meta.attribution, kNameBytesMax);
  putText(object, "route", meta.route, kRouteBytesMax);
  putNumber(object, "pid", meta.pid);
  putNumber(object, "start_unix_ns", meta.start_unix_ns);
  putNumber(object, "end_unix_ns", meta.end_unix_ns);
  putNumber(object, "period_us", meta.period_us);
  putNumber(object, "measured_period_us", meta.measured_period_us);
  putNumber(object, "overhead_ns", meta.overhead_ns);
  if (meta.truncated) object["truncated"] = true;
  if (meta.ticks) {
    object["ticks"] = {{"expected", meta.ticks->expected},
                       {"taken", meta.ticks->taken},
                       {"missed", meta.ticks->missed}};
  }
  return proxy::toBase64Url(object.dump());
}

}  // namespace flamegate::agent
