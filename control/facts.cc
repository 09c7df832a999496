#include "control/facts.h"

#include <utility>

#include "agent-protocol/wire/route_label.h"

namespace flamegate::control {
namespace {

Micros micros(uint64_t value) { return Micros(static_cast<int64_t>(value)); }

std::optional<Micros> micros(std::optional<uint64_t> value) {
  if (!value) return std::nullopt;
  return micros(*value);
}

std::optional<Trigger> toTrigger(agent::TriggerKind kind) {
  return findTrigger(agent::triggerKindName(kind));
}

std::optional<ProfileMode> toMode(agent::Mode mode) {
  return findProfileMode(agent::modeName(mode));
}

// The address of "10.0.0.1:3000"; what is no such thing stays as it is.
std::string hostOf(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos || endpoint.starts_with("unix:")) return endpoint;
  std::string host = endpoint.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

void addTicks(ProfileRecord& record, const agent::Ticks& ticks) {
  Ticks sum = record.ticks.value_or(Ticks{});
  sum.expected += ticks.expected;
  sum.taken += ticks.taken;
  sum.missed += ticks.missed;
  record.ticks = sum;
}

void copyUploadFacts(ProfileRecord& to, const ProfileRecord& from) {
  to.host = from.host;
  to.route = from.route;
  to.interval = from.interval;
  to.samples = from.samples;
  to.ticks = from.ticks;
  to.overhead = from.overhead;
  to.agent = from.agent;
  to.runtime = from.runtime;
  to.pid = from.pid;
  to.cpu = from.cpu;
  to.states = from.states;
}

}  // namespace

void applyCapture(ProfileRecord& record, const agent::CaptureRecord& capture, bool has_upload) {
  record.id = capture.id.text();
  record.trigger = toTrigger(capture.trigger);
  record.method = capture.method;
  record.path = capture.path;
  record.site = capture.site;
  record.service = capture.service;
  record.started_at = WallTime(Millis(static_cast<int64_t>(capture.started_at_ms)));
  record.mode = toMode(capture.mode);
  record.campaign = capture.campaign;
  record.pageview = capture.pageview;
  if (!has_upload) {
    record.interval = micros(capture.interval_us);
    record.host = hostOf(capture.endpoint);
    record.route = agent::routeLabel(capture.route, capture.method, {}, capture.path);
  }
  if (capture.ack) {
    if (record.agent.empty()) record.agent = capture.ack->agent;
    if (record.runtime.empty()) record.runtime = capture.ack->runtime;
  }
  if (capture.phase == agent::CaptureRecord::Phase::Begin) return;
  if (capture.status != 0) record.status = static_cast<int>(capture.status);
  record.duration = micros(capture.duration_us);
  record.upstream = micros(capture.upstream_us);
  record.phases = {micros(capture.phases.queue), micros(capture.phases.connect),
                   micros(capture.phases.first_byte), micros(capture.phases.body)};
  record.changes = capture.changes;
}

std::string routeOf(const ProfileRecord& record, const Part& part, const std::string& route_name) {
  return agent::routeLabel(route_name, record.method, part.meta.route, record.path);
}

void applyPart(ProfileRecord& record, const Part& part, const Assembled& assembled, bool first,
               const std::string& route_name) {
  const agent::UploadMeta& meta = part.meta;
  if (first) {
    if (!meta.agent.empty()) record.agent = meta.agent;
    if (!meta.runtime.empty()) record.runtime = meta.runtime;
    if (!meta.host.empty()) record.host = meta.host;
    if (meta.pid) record.pid = static_cast<int64_t>(*meta.pid);
    if (meta.period_us) record.interval = micros(*meta.period_us);
    record.route = routeOf(record, part, route_name);
  }
  if (meta.ticks) addTicks(record, *meta.ticks);
  if (meta.overhead_ns) {
    record.overhead = record.overhead.value_or(Micros(0)) + micros(*meta.overhead_ns / 1000);
  }
  record.samples = assembled.samples;
  record.cpu = assembled.cpu;
  record.states = assembled.states;
}

void overlay(ProfileRecord& stored, const ProfileRecord& ours, bool ours_has_body) {
  ProfileRecord next = ours;
  next.stored_at = stored.stored_at;
  next.pinned_until = stored.pinned_until;
  next.bytes = stored.bytes;
  if (!ours_has_body && stored.bytes) {
    copyUploadFacts(next, stored);
    if (isSettled(ours.state) || ours.state == ProfileState::Waiting) {
      next.state = ProfileState::Stored;
      next.reason.reset();
    }
  }
  stored = std::move(next);
}

}  // namespace flamegate::control
