// What the proxy tells control about one profiled request: a line of JSON when it was admitted and
// one when its response ended. Our own convention between the two processes; not for agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/profile_id.h"
#include "agent-protocol/wire/request_header.h"
#include "proxy/base/result.h"

namespace flamegate::agent {

// Why a request was profiled.
enum class TriggerKind : unsigned char { Query, Header, Referer, Session, Campaign, Path, Slow };

// "query", "header", …
std::string_view triggerKindName(TriggerKind kind);
std::optional<TriggerKind> parseTriggerKind(std::string_view text);

// Where the time of a request went, in microseconds; absent where it never got that far.
struct CapturePhases {
  std::optional<uint64_t> queue;
  std::optional<uint64_t> connect;
  std::optional<uint64_t> first_byte;
  std::optional<uint64_t> body;
  friend bool operator==(const CapturePhases&, const CapturePhases&) = default;
};

// An acknowledgement without what only the proxy needs.
struct AckSummary {
  AckState state = AckState::Started;
  std::string agent;
  std::string runtime;
  std::vector<std::string> caps;
  friend bool operator==(const AckSummary&, const AckSummary&) = default;
};

struct CaptureRecord {
  enum class Phase : unsigned char { Begin, End };

  Phase phase = Phase::Begin;
  ProfileId id;
  TriggerKind trigger = TriggerKind::Query;
  std::string method;
  std::string path;               // without its query unless the configuration keeps it
  std::string site;               // the request's Host
  std::string endpoint;           // address that served it
  std::string route;              // the configured route's name; empty: to be derived
  std::string service;            // the audience that was signed
  std::vector<std::string> kids;  // secrets whose uploads are accepted for this id
  uint64_t status = 0;            // 0: no response yet
  uint64_t started_at_ms = 0;     // Unix time
  uint64_t duration_us = 0;
  std::optional<uint64_t> upstream_us;
  CapturePhases phases;
  Mode mode = Mode::Wall;
  uint64_t interval_us = 0;
  uint64_t max_ms = 0;
  bool ignore_gc = false;  // samples taken inside a garbage collector are to be left out
  std::optional<AckSummary> ack;
  std::string skipped;  // reason of Profile-Skipped; empty: none was sent
  std::string failure;  // "refused", "client-gone", "upstream-lost"; empty: none
  std::vector<std::string>
      changes;  // what the proxy changed on request and response, a sentence each
  std::string campaign;
  std::string pageview;

  friend bool operator==(const CaptureRecord&, const CaptureRecord&) = default;
};

// One line, without its line feed, of at most kRecordLineBytesMax bytes. Texts over their limits
// are cut with a mark and bytes that are not UTF-8 are percent-encoded.
inline constexpr size_t kRecordLineBytesMax = 65536;
std::string formatCaptureRecord(const CaptureRecord& record);

// Unknown members are ignored; a missing id or phase, a wrong type or anything over its limit is an
// error.
proxy::Result<CaptureRecord> parseCaptureRecord(std::string_view line);

}  // namespace flamegate::agent
