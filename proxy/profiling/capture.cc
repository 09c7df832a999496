#include "proxy/profiling/capture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent-protocol/token/agent_signature.h"
#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr int64_t kClockSlackMs = 1000;
constexpr std::string_view kMasked = "***";

// A pair whose name holds one of these words is taken to hold a secret.
constexpr std::array<std::string_view, 12> kSecretWords = {
    "token", "secret", "passw", "pwd",  "auth", "session",
    "sid",   "key",    "sign",  "code", "jwt",  "credential"};

agent::Mode toMode(config::SampleMode mode) {
  switch (mode) {
    case config::SampleMode::Wall:
      return agent::Mode::Wall;
    case config::SampleMode::Cpu:
      return agent::Mode::Cpu;
    case config::SampleMode::Both:
      return agent::Mode::Both;
  }
  return agent::Mode::Wall;
}

bool namesSecret(std::string_view raw_name) {
  const auto decoded = decodeQueryText(raw_name);
  std::string name = decoded ? *decoded : std::string(raw_name);
  std::transform(name.begin(), name.end(), name.begin(), toLowerAscii);
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
}

}  // namespace

CaptureOptions effectiveOptions(const config::ProfileDefaults& defaults,
                                const OptionOverrides& overrides) {
  CaptureOptions options;
  options.mode = overrides.mode.value_or(toMode(defaults.mode));
  options.interval_us =
      overrides.interval_us.value_or(static_cast<uint64_t>(defaults.interval.count()));
  options.max_ms = std::max<uint64_t>(1, static_cast<uint64_t>(defaults.max.count()) / 1000);
  options.ignore_gc = overrides.ignore_gc;
  return options;
}

std::optional<agent::Ack> findAck(const FieldList& response, const agent::ProfileId& id) {
  if (!response.has(HeaderId::FlamegatePrivate)) return std::nullopt;
  std::optional<agent::Ack> found;
  for (const Field& field : response) {
    if (field.id() != HeaderId::FlamegatePrivate ||
        !equalIgnoreCase(field.name(), agent::kAckName)) {
      continue;
    }
    auto ack = agent::parseAck(field.value());
    if (!ack || ack->id != id) continue;
    if (found) return std::nullopt;
    found = std::move(ack);
  }
  return found;
}

int64_t clockCorrection(uint64_t agent_ms, int64_t sent_ms, int64_t received_ms) {
  const int64_t offset = static_cast<int64_t>(agent_ms) - (sent_ms + (received_ms - sent_ms) / 2);
  return offset > kClockSlackMs || offset < -kClockSlackMs ? offset : 0;
}

std::string recordedPath(std::string_view target, bool keep_query) {
  const size_t mark = target.find('?');
  std::string path(target.substr(0, mark));
  if (!keep_query || mark == std::string_view::npos) return path;
  char separator = '?';
  forEachPair(
      target.substr(mark + 1),
      [&path, &separator](std::string_view pair, std::string_view name, std::string_view value) {
        path.push_back(std::exchange(separator, '&'));
        if (!value.empty() && namesSecret(name)) {
          path.append(name).append("=").append(kMasked);
        } else {
          path.append(pair);
        }
      });
  return path;
}

Capture::Capture(const agent::ProfileId& id, agent::TriggerKind kind, bool asked, bool view,
                 const CaptureOptions& options, AdmissionSlot slot)
    : options_(options), slot_(std::move(slot)), asked_(asked), view_(view) {
  record_.id = id;
  record_.trigger = kind;
  record_.mode = options.mode;
  record_.interval_us = options.interval_us;
  record_.max_ms = options.max_ms;
  record_.ignore_gc = options.ignore_gc;
}

void Capture::renew(const agent::ProfileId& id) {
  record_.id = id;
  ack_.reset();
  armed_ = false;
}

std::string Capture::requestHeader(std::string_view service, std::string_view method,
                                   const agent::KeyRing& keys, int64_t now_ms) {
  record_.service = service;
  record_.kids = {keys.current().kid};
  if (keys.previous() != nullptr) record_.kids.push_back(keys.previous()->kid);

  agent::RequestHeader header;
  header.id = record_.id;
  header.ts_ms = static_cast<uint64_t>(std::max<int64_t>(now_ms, 0));
  header.service = service;
  header.mode = options_.mode;
  header.interval_us = options_.interval_us;
  header.max_ms = options_.max_ms;
  agent::signRequest(header, method, keys.current());
  return header.format();
}

void Capture::onResponseHead(const FieldList& response) {
  ack_ = findAck(response, record_.id);
  if (!ack_) return;
  record_.ack = {ack_->state, ack_->agent, ack_->runtime, ack_->caps};
}

Announcement Capture::announcement() const {
  const bool begun = armed_ || local_reply_ || (ack_ && ack_->state == agent::AckState::Started);
  if (begun && !refusal_) {
    if (!asked_ && !view_) return {};
    return {record_.id, std::nullopt, !asked_};
  }
  if (!asked_) return {};
  if (refusal_) return {std::nullopt, refusal_, false};
  return {std::nullopt, ack_ ? skipReasonOf(ack_->state) : SkipReason::NoAgent, false};
}

std::string Capture::beginLine() {
  record_.phase = agent::CaptureRecord::Phase::Begin;
  return agent::formatCaptureRecord(record_);
}

std::string Capture::endLine() {
  record_.phase = agent::CaptureRecord::Phase::End;
  const Announcement told = announcement();
  record_.skipped = told.skip ? std::string(skipReasonName(*told.skip)) : std::string();
  return agent::formatCaptureRecord(record_);
}

}  // namespace flamegate::proxy
