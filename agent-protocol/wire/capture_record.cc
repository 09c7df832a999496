#include "agent-protocol/wire/capture_record.h"

#include <algorithm>
#include <array>

#include "agent-protocol/wire/json_fields.h"

namespace flamegate::agent {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

// Bytes after cleaning. JSON escapes grow a control byte sixfold, which kRecordLineBytesMax allows
// for.
constexpr size_t kPathBytesMax = 2048;
constexpr size_t kTextBytesMax = 256;
constexpr size_t kNameBytesMax = 64;
constexpr size_t kRouteBytesMax = 512;
constexpr size_t kKidsMax = 4;
constexpr size_t kProductBytesMax = 65;  // of the acknowledgement's grammar, as the next two
constexpr size_t kCapBytesMax = 16;
constexpr size_t kCapsMax = 16;
constexpr size_t kChangesMax = 24;

constexpr std::array kTriggerKinds = {
    TriggerKind::Query,    TriggerKind::Header, TriggerKind::Referer, TriggerKind::Session,
    TriggerKind::Campaign, TriggerKind::Path,   TriggerKind::Slow};

// The texts of a record and their limits, once for both directions.
template <typename Record, typename Each>
void forEachText(Record& record, Each each) {
  each("method", kNameBytesMax, record.method);
  each("path", kPathBytesMax, record.path);
  each("site", kTextBytesMax, record.site);
  each("endpoint", kTextBytesMax, record.endpoint);
  each("route", kRouteBytesMax, record.route);
  each("service", kNameBytesMax, record.service);
  each("skipped", kNameBytesMax, record.skipped);
  each("failure", kNameBytesMax, record.failure);
  each("campaign", kNameBytesMax, record.campaign);
  each("pageview", kNameBytesMax, record.pageview);
}

template <typename Record, typename Each>
void forEachNumber(Record& record, Each each) {
  each("status", record.status);
  each("started_at_ms", record.started_at_ms);
  each("duration_us", record.duration_us);
  each("interval_us", record.interval_us);
  each("max_ms", record.max_ms);
}

template <typename Phases, typename Each>
void forEachPhase(Phases& phases, Each each) {
  each("queue", phases.queue);
  each("connect", phases.connect);
  each("first_byte", phases.first_byte);
  each("body", phases.body);
}

void putTexts(json& object, const char* key, const std::vector<std::string>& texts,
              size_t count_max, size_t bytes_max) {
  if (texts.empty()) return;
  json& array = object[key] = json::array();
  const size_t count = std::min(texts.size(), count_max);
  for (size_t i = 0; i < count; ++i) array.push_back(cleanText(texts[i], bytes_max));
}

json ackToJson(const AckSummary& ack) {
  json object = {{"state", ackStateName(ack.state)}};
  if (!ack.agent.empty()) object["agent"] = cleanText(ack.agent, kProductBytesMax);
  if (!ack.runtime.empty()) object["runtime"] = cleanText(ack.runtime, kProductBytesMax);
  putTexts(object, "caps", ack.caps, kCapsMax, kCapBytesMax);
  return object;
}

void readAck(JsonFields& fields, CaptureRecord& record) {
  const json* object = fields.findObject("ack");
  if (object == nullptr) return;
  JsonFields ack(*object);
  AckSummary& read = record.ack.emplace();
  std::string state;
  ack.readText("state", kNameBytesMax, state);
  ack.readText("agent", kProductBytesMax, read.agent);
  ack.readText("runtime", kProductBytesMax, read.runtime);
  ack.readTexts("caps", kCapsMax, kCapBytesMax, read.caps);
  const auto known = parseAckState(state);
  if (!ack.ok() || !known) return fields.reject();
  read.state = *known;
}

void readPhases(JsonFields& fields, CaptureRecord& record) {
  const json* object = fields.findObject("phases_us");
  if (object == nullptr) return;
  JsonFields phases(*object);
  forEachPhase(record.phases,
               [&phases](const char* key, auto& value) { phases.readNumber(key, value); });
  if (!phases.ok()) fields.reject();
}

// The members that have a grammar of their own.
void readEnumerations(JsonFields& fields, CaptureRecord& record) {
  std::string id, phase, trigger, mode;
  fields.readText("id", ProfileId::kSize, id);
  fields.readText("phase", kNameBytesMax, phase);
  fields.readText("trigger", kNameBytesMax, trigger);
  fields.readText("mode", kNameBytesMax, mode);
  const auto known_id = ProfileId::parse(id);
  const auto known_trigger = parseTriggerKind(trigger);
  const auto known_mode = parseMode(mode);
  if (!known_id || !known_trigger || !known_mode || (phase != "begin" && phase != "end")) {
    return fields.reject();
  }
  record.id = *known_id;
  record.phase = phase == "end" ? CaptureRecord::Phase::End : CaptureRecord::Phase::Begin;
  record.trigger = *known_trigger;
  record.mode = *known_mode;
}

}  // namespace

std::string_view triggerKindName(TriggerKind kind) {
  switch (kind) {
    case TriggerKind::Query:
      return "query";
    case TriggerKind::Header:
      return "header";
    case TriggerKind::Referer:
      return "referer";
    case TriggerKind::Session:
      return "session";
    case TriggerKind::Campaign:
      return "campaign";
    case TriggerKind::Path:
      return "path";
    case TriggerKind::Slow:
      return "slow";
  }
  return "query";
}

std::optional<TriggerKind> parseTriggerKind(std::string_view text) {
  for (TriggerKind kind : kTriggerKinds) {
    if (text == triggerKindName(kind)) return kind;
  }
  return std::nullopt;
}

std::string formatCaptureRecord(const CaptureRecord& record) {
  json object = {{"id", record.id.text()},
                 {"phase", record.phase == CaptureRecord::Phase::End ? "end" : "begin"},
                 {"trigger", triggerKindName(record.trigger)},
                 {"mode", modeName(record.mode)}};
  forEachText(record, [&object](const char* key, size_t bytes_max, const std::string& text) {
    if (!text.empty()) object[key] = cleanText(text, bytes_max);
  });
  forEachNumber(record, [&object](const char* key, uint64_t number) { object[key] = number; });
  json phases = json::object();
  forEachPhase(record.phases, [&phases](const char* key, const std::optional<uint64_t>& number) {
    if (number) phases[key] = *number;
  });
  if (!phases.empty()) object["phases_us"] = std::move(phases);
  if (record.upstream_us) object["upstream_us"] = *record.upstream_us;
  if (record.ignore_gc) object["ignore_gc"] = true;
  if (record.ack) object["ack"] = ackToJson(*record.ack);
  putTexts(object, "kids", record.kids, kKidsMax, kNameBytesMax);
  putTexts(object, "changes", record.changes, kChangesMax, kTextBytesMax);
  return object.dump();
}

proxy::Result<CaptureRecord> parseCaptureRecord(std::string_view line) {
  if (line.size() > kRecordLineBytesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Internal,
                       "a capture record is over 64 KiB");
  }
  const auto object = parseJsonObject(line);
  if (!object) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Internal,
                       "a capture record is not a JSON object");
  }
  CaptureRecord record;
  JsonFields fields(*object);
  readEnumerations(fields, record);
  forEachText(record, [&fields](const char* key, size_t bytes_max, std::string& text) {
    fields.readText(key, bytes_max, text);
  });
  forEachNumber(record,
                [&fields](const char* key, uint64_t& number) { fields.readNumber(key, number); });
  readPhases(fields, record);
  fields.readNumber("upstream_us", record.upstream_us);
  fields.readFlag("ignore_gc", record.ignore_gc);
  readAck(fields, record);
  fields.readTexts("kids", kKidsMax, kNameBytesMax, record.kids);
  fields.readTexts("changes", kChangesMax, kTextBytesMax, record.changes);
  if (!fields.ok()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Internal,
                       "a member of a capture record is missing or has the wrong type or size");
  }
  return record;
}

}  // namespace flamegate::agent
