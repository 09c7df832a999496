// What the join learns from the store: records of a former process, or of another one.
#include <algorithm>
#include <utility>

#include "control/join.h"
#include "control/join_entry.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::Result;

// Whether an id that nobody here knows may still get its capture.
bool isPlausible(std::string_view id, WallTime now) {
  const auto parsed = agent::ProfileId::parse(id);
  if (!parsed) return false;
  const WallTime issued{Millis(parsed->unixMillis())};
  return now - issued <= Join::kIdAge && issued - now <= Join::kIdAhead;
}

// How much longer a record that was read from the store takes parts.
Millis windowLeft(const ProfileRecord& record, WallTime now) {
  const bool final_failure =
      record.state == ProfileState::Failed && record.reason != FailReason::ControlLost;
  if (final_failure) return Millis(0);
  const auto duration = std::chrono::ceil<Millis>(record.duration.value_or(Micros(0)));
  const WallTime end = record.started_at + duration + Join::kWait;
  return std::clamp(end - now, Millis(0), Join::kWait);
}

}  // namespace

void Join::look(Entry& entry) {
  entry.looking = true;
  entry.look_at = {};
  store_.find(entry.id,
              resume<ProfileRecord>(entry, [this](Entry& still, Result<ProfileRecord> found) {
                onLooked(still, std::move(found));
              }));
}

void Join::onLooked(Entry& entry, Result<ProfileRecord> found) {
  if (!entry.looking) return;  // the capture itself came in the meantime
  entry.looking = false;
  if (!found) {
    onLookFailed(entry, found.error());
    return;
  }
  if (entry.known) {
    unite(entry, std::move(*found));
  } else {
    adopt(entry, std::move(*found));
  }
  pump(entry);
  schedule(entry);
}

void Join::onLookFailed(Entry& entry, const proxy::Error& error) {
  if (error.code != ErrorCode::NotFound) {
    if (entry.known) {
      entry.save_at = executor_.monoNow() + kSaveRetry;
      pump(entry);
      schedule(entry);
      return;
    }
    while (!entry.queue.empty()) finishPart(entry, PartOutcome::StoreAway);
    drop(entry);
    return;
  }
  entry.look_first = false;
  if (!entry.known && !isPlausible(entry.id, executor_.wallNow())) {
    drop(entry);
    return;
  }
  entry.look_at = executor_.monoNow() + kLook;
  flush(entry);
  pump(entry);
  schedule(entry);
}

void Join::adopt(Entry& entry, ProfileRecord record) {
  entry.known = true;
  entry.foreign = true;
  entry.in_store = true;
  entry.kids = kids_of_service_(record.service);
  entry.has_body = record.bytes.has_value();
  entry.ended = record.state != ProfileState::Running;
  entry.failed = record.reason;
  entry.record = std::move(record);
  entry.forget_at = executor_.monoNow() + kRemember;
  if (entry.ended)
    entry.window_end = executor_.monoNow() + windowLeft(entry.record, executor_.wallNow());
}

// An End came here whose Begin a former process, or a part another process, has stored.
void Join::unite(Entry& entry, ProfileRecord stored) {
  entry.look_first = false;
  entry.in_store = true;
  entry.has_body = stored.bytes.has_value();
  if (entry.has_body) entry.failed.reset();
  overlay(stored, entry.record, false);
  entry.record = std::move(stored);
  change(entry);
}

void Join::recover() {
  recoverPage(ProfileState::Running, {});
  recoverPage(ProfileState::Waiting, {});
}

void Join::recoverPage(ProfileState state, std::string cursor) {
  ListQuery query;
  query.state = state;
  query.limit = kListLimitMax;
  query.cursor = std::move(cursor);
  store_.list(std::move(query), onLoop<ListPage>(executor_, [this, state](Result<ListPage> page) {
                if (!page) {
                  recover_timer_ =
                      executor_.runAfter(kSaveRetry, [this, state] { recoverPage(state, {}); });
                  return;
                }
                for (ProfileRecord& record : page->records) {
                  if (findEntry(record.id) != nullptr) continue;
                  Entry& entry = obtain(record.id);
                  adopt(entry, std::move(record));
                  if (!entry.ended) entry.lost_at = executor_.monoNow() + kLostGrace;
                  schedule(entry);
                }
                if (!page->next.empty()) recoverPage(state, std::move(page->next));
              }));
}

}  // namespace flamegate::control
