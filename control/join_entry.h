// One id of the join: what is known of it and what follows from that. No I/O, no clock.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/executor.h"
#include "control/facts.h"
#include "control/join.h"
#include "control/on_loop.h"
#include "control/store/record.h"
#include "proxy/base/clock.h"

namespace flamegate::control {

// Owner: the join. Thread: control's.
struct Join::Entry {
  struct Mark {
    std::string name;
    proxy::Sha256 hash;
  };
  struct Held {
    std::shared_ptr<const Part> part;
    PartDone done;
  };

  std::string id;
  uint64_t serial = 0;  // tells a later entry of the same id from this one

  // Facts.
  ProfileRecord record;
  std::string route_name;         // as configured; empty: none
  std::vector<std::string> kids;  // secrets whose uploads count; empty: any
  bool ignore_gc = false;
  bool known = false;     // a capture came, or the store has a record
  bool foreign = false;   // the captures go to another process
  bool ended = false;     // the response is over
  bool unasked = false;   // no agent acknowledged and the client was told so
  bool has_body = false;  // in the store
  bool erased = false;    // deleted on purpose
  std::optional<FailReason> failed;
  FailReason otherwise = FailReason::NoUpload;  // the reason, should nothing come
  std::vector<Mark> parts;                      // stored ones

  // Work under way.
  std::deque<Held> queue;
  bool working = false;     // the first of the queue is being assembled or saved
  bool looking = false;     // in the store, for a record
  bool look_first = false;  // before anything is written: the store may know more
  bool in_store = false;    // the store has acknowledged a record
  bool saving = false;
  bool dirty = false;  // the record is ahead of the store

  // Deadlines; unset where they do not apply.
  proxy::TimePoint hold_until;  // for a capture, while parts are held
  proxy::TimePoint look_at;     // into the store again, meanwhile
  proxy::TimePoint window_end;  // for parts
  proxy::TimePoint lost_at;     // for a sign of life after a restart
  proxy::TimePoint save_at;     // again, after a failure
  proxy::TimePoint forget_at;
  Executor::TimerId timer = Executor::kNoTimer;

  ProfileState state() const;
  bool settled() const { return isSettled(state()); }
  // What the client was not told of stays out of the list until a part shows that there is a
  // profile.
  bool hidden() const { return unasked && !has_body; }
  // Whether the time for a first part is over.
  bool outOfTime(proxy::TimePoint now) const;

  // Whether nothing is under way that needs the entry after forget_at.
  bool forgettable() const {
    return (settled() || foreign || erased) && !dirty && !saving && !working;
  }

  // The answer to a part that needs no work, if there is one.
  std::optional<PartOutcome> judge(const Part& part, proxy::TimePoint now) const;
  // The earliest deadline that applies; unset when none does.
  proxy::TimePoint nextDeadline() const;
};

template <typename T, typename Then>
Done<T> Join::resume(Entry& entry, Then then) {
  return onLoop<T>(executor_, [this, id = entry.id, serial = entry.serial,
                               then = std::move(then)](proxy::Result<T> result) mutable {
    Entry* still = findEntry(id);
    if (still != nullptr && still->serial == serial) then(*still, std::move(result));
  });
}

}  // namespace flamegate::control
