// One request that is being profiled, from its admission to the record that control keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/token/keys.h"
#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/capture_record.h"
#include "config/schema/profiling.h"
#include "proxy/http/head.h"
#include "proxy/profiling/admission.h"
#include "proxy/profiling/announce.h"
#include "proxy/profiling/query.h"
#include "proxy/profiling/skip_reason.h"

namespace flamegate::proxy {

// What is asked of the agent.
struct CaptureOptions {
  agent::Mode mode = agent::Mode::Wall;
  uint64_t interval_us = 1000;
  uint64_t max_ms = 30000;
  bool ignore_gc = false;
  friend bool operator==(const CaptureOptions&, const CaptureOptions&) = default;
};

CaptureOptions effectiveOptions(const config::ProfileDefaults& defaults,
                                const OptionOverrides& overrides);

// The only acknowledgement with this id among the fields of a response; nothing when there are two.
std::optional<agent::Ack> findAck(const FieldList& response, const agent::ProfileId& id);

// What to add to later `ts` for an endpoint whose agent's clock showed `agent_ms` while ours went
// from `sent_ms` to `received_ms`; 0 when it is within a second of the middle.
int64_t clockCorrection(uint64_t agent_ms, int64_t sent_ms, int64_t received_ms);

// The path that is recorded: without a query, or with one whose secrets are masked. Tokens of ours
// never show.
std::string recordedPath(std::string_view target, bool keep_query);

// Collects what happens to a profiled request. Nothing here can fail the request: what goes wrong
// is an outcome in the record. Owner: its exchange. Thread: the exchange's loop. Ends: with the
// exchange; the slot is then free again.
class Capture {
 public:
  // `asked`: the client asked for it and is told why when there is no profile. Otherwise a campaign
  // or a slow rule did, and only a client that may `view` is told the id.
  Capture(const agent::ProfileId& id, agent::TriggerKind kind, bool asked, bool view,
          const CaptureOptions& options, AdmissionSlot slot);

  const agent::ProfileId& id() const { return record_.id; }
  const CaptureOptions& options() const { return options_; }
  bool asked() const { return asked_; }

  // A request head that may have been read is sent again: under another id, as the agent may know
  // the first one. Acknowledgements of the first no longer count.
  void renew(const agent::ProfileId& id);

  // The value of Flamegate-Profile for this method; `now_ms` is our clock plus the endpoint's
  // correction. The record then names the service and the secrets whose uploads are accepted.
  std::string requestHeader(std::string_view service, std::string_view method,
                            const agent::KeyRing& keys, int64_t now_ms);

  // The final response head has come; finds the acknowledgement in it.
  void onResponseHead(const FieldList& response);
  // A sidecar records this request.
  void onArmed() { armed_ = true; }
  // The proxy answers by itself although the head was forwarded (502, 504): the agent may have
  // begun.
  void onLocalReply() { local_reply_ = true; }
  // The request never reached an agent.
  void onRefused(SkipReason reason) { refusal_ = reason; }

  const std::optional<agent::Ack>& ack() const { return ack_; }
  Announcement announcement() const;

  // The record, for the exchange to fill in what it knows: method, path, site, times, status…
  agent::CaptureRecord& record() { return record_; }
  // The line for control when the request was admitted, and when its response ended.
  std::string beginLine();
  std::string endLine();
  // One sentence about something that the proxy changed.
  void noteChange(std::string sentence) { record_.changes.push_back(std::move(sentence)); }

 private:
  agent::CaptureRecord record_;
  CaptureOptions options_;
  AdmissionSlot slot_;
  bool asked_;
  bool view_;
  bool armed_ = false;
  bool local_reply_ = false;
  std::optional<agent::Ack> ack_;
  std::optional<SkipReason> refusal_;
};

}  // namespace flamegate::proxy
