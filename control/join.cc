#include "control/join.h"

#include <algorithm>
#include <utility>

#include "control/join_entry.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::Result;

// Why no upload may be expected, or no complete one.
std::optional<FailReason> endReason(const agent::CaptureRecord& capture) {
  if (const std::optional<FailReason> reason = findFailReason(capture.failure)) return reason;
  const bool refused = capture.ack && capture.ack->state != agent::AckState::Started;
  return refused ? std::optional(FailReason::Refused) : std::nullopt;
}

PartOutcome outcomeOf(const proxy::Error& error) {
  switch (error.code) {
    case ErrorCode::NotFound:
      return PartOutcome::Unknown;
    case ErrorCode::Conflict:
      return PartOutcome::Known;
    case ErrorCode::Refused:
      return PartOutcome::Differs;
    case ErrorCode::TooLarge:
      return PartOutcome::TooLarge;
    case ErrorCode::Malformed:
    case ErrorCode::Unsupported:
      return PartOutcome::Undecodable;
    default:
      return PartOutcome::StoreAway;
  }
}

}  // namespace

Join::Join(Executor& executor, Store& store, PartAssembler& assembler, JoinEvents& events,
           KidsOfService kids_of_service)
    : executor_(executor),
      store_(store),
      assembler_(assembler),
      events_(events),
      kids_of_service_(std::move(kids_of_service)) {}

Join::~Join() {
  executor_.cancel(recover_timer_);
  for (auto& [id, entry] : entries_) executor_.cancel(entry->timer);
}

// ---- Entries ------------------------------------------------------------------------------------

Join::Entry* Join::findEntry(std::string_view id) const {
  const auto at = entries_.find(id);
  return at == entries_.end() ? nullptr : at->second.get();
}

Join::Entry& Join::obtain(std::string_view id) {
  if (Entry* entry = findEntry(id)) return *entry;
  // Ids begin with their time of issue, so the first one is the oldest.
  if (entries_.size() >= kEntriesMax) drop(*entries_.begin()->second);
  auto entry = std::make_unique<Entry>();
  entry->id = id;
  entry->serial = ++last_serial_;
  return *entries_.emplace(id, std::move(entry)).first->second;
}

void Join::drop(Entry& entry) {
  while (!entry.queue.empty()) finishPart(entry, PartOutcome::Unknown);
  executor_.cancel(entry.timer);
  const std::string id = std::move(entry.id);
  entries_.erase(id);
}

const ProfileRecord* Join::find(std::string_view id) const {
  const Entry* entry = findEntry(id);
  if (entry == nullptr || !entry->known || entry->foreign || entry->erased) return nullptr;
  return &entry->record;
}

bool Join::storeFull() const { return full_until_ > executor_.monoNow(); }

void Join::noteWrite(const proxy::Error* error) {
  if (error == nullptr) full_until_ = {};
  const bool full = error != nullptr && error->code == ErrorCode::Full &&
                    error->source == proxy::ErrorSource::Store;
  if (full) full_until_ = executor_.monoNow() + kFullFor;
}

JoinStats Join::stats() const {
  JoinStats stats = counters_;
  stats.held_parts = held_parts_;
  for (const auto& [id, entry] : entries_) stats.live += entry->known && !entry->settled();
  return stats;
}

// ---- Captures -----------------------------------------------------------------------------------

void Join::onCapture(const agent::CaptureRecord& capture) {
  const bool begins = capture.phase == agent::CaptureRecord::Phase::Begin;
  const bool fresh = findEntry(capture.id.text()) == nullptr;
  Entry& entry = obtain(capture.id.text());
  if (entry.erased || (begins && entry.ended)) return;
  entry.known = true;
  entry.foreign = false;
  entry.lost_at = {};
  entry.route_name = capture.route;
  entry.kids = capture.kids;
  entry.ignore_gc = capture.ignore_gc;
  applyCapture(entry.record, capture, entry.has_body);
  if (begins) {
    entry.looking = false;  // nobody can have stored what begins now
  } else {
    onCaptureEnd(entry, capture);
    // Its Begin may have been stored by a former process.
    entry.look_first = fresh || entry.looking;
  }
  change(entry);
  pump(entry);
  schedule(entry);
}

void Join::onCaptureEnd(Entry& entry, const agent::CaptureRecord& capture) {
  if (entry.ended && entry.failed != FailReason::ControlLost) return;
  const std::optional<FailReason> reason = endReason(capture);
  entry.ended = true;
  if (entry.failed == FailReason::ControlLost) entry.failed.reset();
  entry.unasked = !capture.skipped.empty() && !reason;
  if (reason) entry.otherwise = *reason;
  if (reason == FailReason::Refused) entry.failed = reason;
  if (!entry.has_body) {
    entry.window_end = executor_.monoNow() + (entry.unasked ? kUnaskedWait : kWait);
  }
  if (entry.hidden() && entry.in_store) {
    entry.in_store = false;
    store_.erase(entry.id, [](Result<>) {});
  }
}

void Join::onErased(const std::string& id) {
  Entry* entry = findEntry(id);
  if (entry == nullptr) return;
  entry->erased = true;
  entry->dirty = false;
  entry->ended = true;
  entry->forget_at = executor_.monoNow() + kRemember;
  pump(*entry);
  schedule(*entry);
}

// ---- Parts --------------------------------------------------------------------------------------

void Join::onPart(const agent::ProfileId& id, std::shared_ptr<const Part> part, PartDone done) {
  const bool fresh = findEntry(id.text()) == nullptr;
  Entry& entry = obtain(id.text());
  const proxy::TimePoint now = executor_.monoNow();
  std::optional<PartOutcome> verdict = entry.judge(*part, now);
  if (!verdict && entry.queue.size() >= kPartsMax) verdict = PartOutcome::TooMany;
  if (!verdict && held_parts_ >= kHeldPartsMax) verdict = PartOutcome::Busy;
  if (verdict) {
    done(*verdict);
    if (fresh) drop(entry);
    return;
  }
  entry.queue.push_back({std::move(part), std::move(done)});
  ++held_parts_;
  if (!entry.known && !entry.hold_until.set()) {
    entry.hold_until = now + kHeld;
    look(entry);
  }
  pump(entry);
  schedule(entry);
}

void Join::pump(Entry& entry) {
  if (!entry.known || entry.looking || entry.working) return;
  while (!entry.queue.empty()) {
    const std::optional<PartOutcome> verdict =
        entry.judge(*entry.queue.front().part, executor_.monoNow());
    if (!verdict) break;
    finishPart(entry, *verdict);
  }
  if (entry.queue.empty()) return;
  entry.working = true;
  if (!entry.has_body) {
    assemble(entry, std::nullopt);
    return;
  }
  store_.body(entry.id, resume<std::string>(entry, [this](Entry& still, Result<std::string> body) {
                if (!body) {
                  onPartFailed(still, body.error());
                } else {
                  assemble(still, std::move(*body));
                }
              }));
}

void Join::assemble(Entry& entry, std::optional<std::string> stored_body) {
  PartAssembler::Input input{entry.record, entry.queue.front().part, std::move(stored_body),
                             entry.ignore_gc};
  if (!entry.has_body) input.record.route = routeOf(entry.record, *input.part, entry.route_name);
  assembler_.assemble(std::move(input),
                      [this, id = entry.id, serial = entry.serial](Result<Assembled> assembled) {
                        Entry* still = findEntry(id);
                        if (still != nullptr && still->serial == serial)
                          onAssembled(*still, std::move(assembled));
                      });
}

void Join::onAssembled(Entry& entry, Result<Assembled> assembled) {
  if (!assembled || entry.erased) {
    onPartFailed(entry, assembled
                            ? proxy::Error{ErrorCode::NotFound, proxy::ErrorSource::Agent, {}, {}}
                            : assembled.error());
    return;
  }
  ProfileRecord next = entry.record;
  applyPart(next, *entry.queue.front().part, *assembled, !entry.has_body, entry.route_name);
  next.state = entry.ended ? ProfileState::Stored : ProfileState::Running;
  next.reason.reset();
  const ProfileState saved_as = next.state;
  std::string body = std::exchange(assembled->body, {});
  save(entry, std::move(next), std::move(body),
       resume<void>(entry,
                    [this, saved_as, facts = std::move(*assembled)](Entry& still, Result<> saved) {
                      if (saved) {
                        onPartSaved(still, facts, saved_as);
                      } else {
                        onPartFailed(still, saved.error());
                      }
                    }));
}

void Join::onPartFailed(Entry& entry, const proxy::Error& error) {
  const PartOutcome outcome = outcomeOf(error);
  noteWrite(&error);
  const Part& part = *entry.queue.front().part;
  if (outcome == PartOutcome::TooLarge) entry.otherwise = FailReason::Oversized;
  if (outcome == PartOutcome::Undecodable) entry.otherwise = FailReason::Undecodable;
  if (outcome == PartOutcome::StoreAway) entry.otherwise = FailReason::Store;
  if (outcome == PartOutcome::Known) entry.parts.push_back({part.name, part.hash});
  if (outcome == PartOutcome::Unknown) entry.erased = true;
  entry.working = false;
  finishPart(entry, outcome);
  pump(entry);
  schedule(entry);
}

void Join::onPartSaved(Entry& entry, const Assembled& assembled, ProfileState saved_as) {
  const Part& part = *entry.queue.front().part;
  noteWrite(nullptr);
  applyPart(entry.record, part, assembled, !entry.has_body, entry.route_name);
  if (!entry.has_body) entry.window_end = executor_.monoNow() + kMerge;
  entry.has_body = true;
  entry.in_store = true;
  entry.failed.reset();
  entry.parts.push_back({part.name, part.hash});
  ++counters_.parts;
  settle(entry);
  // The response may have ended while the part was on its way to the store.
  entry.dirty = entry.dirty || entry.record.state != saved_as;
  entry.working = false;
  finishPart(entry, PartOutcome::Stored);
  flush(entry);
  pump(entry);
  schedule(entry);
}

void Join::finishPart(Entry& entry, PartOutcome outcome) {
  const PartDone done = std::move(entry.queue.front().done);
  entry.queue.pop_front();
  --held_parts_;
  if (outcome == PartOutcome::Unknown) ++counters_.unclaimed;
  done(outcome);
}

void Join::onBadPart(const agent::ProfileId& id, FailReason reason, bool verified) {
  Entry* entry = findEntry(id.text());
  if (entry == nullptr || !entry->known || entry->has_body || entry->settled()) return;
  entry->otherwise = reason;
  if (!verified) return;
  entry->failed = reason;
  if (entry->ended) change(*entry);
}

// ---- The record ---------------------------------------------------------------------------------

void Join::settle(Entry& entry) {
  const bool before = isSettled(entry.record.state);
  entry.record.state = entry.state();
  entry.record.reason.reset();
  if (entry.record.state == ProfileState::Failed) entry.record.reason = entry.failed;
  if (!before && entry.settled()) {
    ++(entry.has_body ? counters_.stored : counters_.failed);
    entry.forget_at = executor_.monoNow() + kRemember;
  }
  if (!entry.hidden()) events_.onRecord(entry.record);
}

void Join::change(Entry& entry) {
  settle(entry);
  entry.dirty = true;
  flush(entry);
  schedule(entry);
}

void Join::flush(Entry& entry) {
  if (!entry.dirty || entry.saving || entry.looking || entry.erased || entry.hidden()) return;
  if (entry.look_first) {
    look(entry);
    return;
  }
  entry.dirty = false;
  entry.save_at = {};
  entry.saving = true;
  save(entry, entry.record, std::nullopt,
       resume<void>(entry, [this](Entry& still, Result<> saved) { onSaved(still, saved); }));
}

void Join::save(Entry& entry, ProfileRecord record, std::optional<std::string> body, Done<> done) {
  if (!entry.in_store) {
    store_.put(std::move(record), std::move(body), std::move(done));
    return;
  }
  const bool has_body = entry.has_body || body.has_value();
  store_.update(
      entry.id,
      [ours = std::move(record), has_body](ProfileRecord& stored) {
        overlay(stored, ours, has_body);
      },
      std::move(body),
      [done = std::move(done)](Result<ProfileRecord> updated) {
        if (updated) {
          done({});
        } else {
          done(proxy::fail(std::move(updated.error())));
        }
      });
}

void Join::onSaved(Entry& entry, const Result<>& saved) {
  entry.saving = false;
  noteWrite(saved ? nullptr : &saved.error());
  if (saved) {
    entry.in_store = !entry.hidden();
    if (entry.hidden()) store_.erase(entry.id, [](Result<>) {});
    flush(entry);
  } else if (saved.error().code == ErrorCode::NotFound) {
    onErased(entry.id);  // by another process, or by retention
  } else {
    entry.dirty = true;
    entry.save_at = executor_.monoNow() + kSaveRetry;
  }
  schedule(entry);
}

// ---- Deadlines ----------------------------------------------------------------------------------

void Join::schedule(Entry& entry) {
  executor_.cancel(entry.timer);
  const proxy::TimePoint deadline = entry.nextDeadline();
  if (!deadline.set()) return;
  const auto left = std::chrono::ceil<Millis>(deadline - executor_.monoNow());
  entry.timer = executor_.runAfter(std::max(left, Millis(0)), [this, &entry] {
    entry.timer = Executor::kNoTimer;
    onTimer(entry);
  });
}

void Join::onTimer(Entry& entry) {
  const proxy::TimePoint now = executor_.monoNow();
  const auto reached = [now](proxy::TimePoint deadline) {
    return deadline.set() && deadline <= now;
  };
  const bool held = !entry.known && !entry.queue.empty();
  if (held && reached(entry.hold_until)) {
    drop(entry);
    return;
  }
  if (held && !entry.looking && reached(entry.look_at)) look(entry);
  if (!entry.ended && reached(entry.lost_at)) {
    entry.ended = true;
    entry.failed = FailReason::ControlLost;
    entry.window_end = now + kWait;
    change(entry);
  }
  if (entry.outOfTime(now) && !entry.failed) {
    if (entry.hidden()) {
      drop(entry);
      return;
    }
    entry.failed = entry.otherwise;
    change(entry);
  }
  if (reached(entry.save_at)) flush(entry);
  if (entry.forgettable() && reached(entry.forget_at)) {
    drop(entry);
    return;
  }
  schedule(entry);
}

}  // namespace flamegate::control
