// Brings together what the proxy says of a request and what the agent uploads of it.
//
//            Begin            End                      first part stored
//   (none) ────────▶ running ─────▶ waiting ─────────────────────────────▶ stored
//                       │              │ nothing came within 60 s, the agent refused, …
//                       │ control died └──────────────────────────────────▶ failed
//                       └─────────────────────────────────────────────────▶ failed (control-lost)
//
// Captures and parts may come in either order. A part without a capture is held for 30 s; a capture
// without a part waits for 60 s after the response. Failed is reported as soon as nothing better
// can be expected, yet a part that comes while the window is open is stored all the same.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent-protocol/wire/capture_record.h"
#include "control/executor.h"
#include "control/facts.h"
#include "control/store/store.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// What became of one part. Each has one answer on the wire, see api/agent_upload.cc.
enum class PartOutcome : unsigned char {
  Stored,
  Known,        // same id, part and bytes came before
  Differs,      // same id and part, other bytes
  TooMany,      // the profile has all the parts it may have
  Unknown,      // no such id was issued, as far as the time to wait can tell
  Closed,       // the id is known, the time for its uploads is over
  WrongKey,     // signed with a secret that this id's cluster does not use
  Undecodable,  // it cannot be merged
  TooLarge,     // merged it outgrows a limit
  StoreAway,
  Busy,  // too many parts are held already
};
using PartDone = std::function<void(PartOutcome)>;

// Makes the stored file out of a part and what is stored already. Its real implementation works on
// the thread pool; `done` is called once, on control's thread, never from inside assemble().
class PartAssembler {
 public:
  struct Input {
    ProfileRecord record;
    std::shared_ptr<const Part> part;
    std::optional<std::string> stored_body;
    bool ignore_gc = false;  // leave out what the garbage collector was sampled in
  };
  // Conflict: the stored file holds this part already. Refused: it holds another of that name.
  using AssembleDone = std::function<void(proxy::Result<Assembled>)>;

  virtual ~PartAssembler() = default;
  virtual void assemble(Input input, AssembleDone done) = 0;
};

// Told of every change of a record, after it was stored where it is to be stored. Nothing of the
// join may be called from inside.
class JoinEvents {
 public:
  virtual ~JoinEvents() = default;
  virtual void onRecord(const ProfileRecord& record) = 0;
};

struct JoinStats {
  size_t live = 0;  // not settled
  size_t held_parts = 0;
  uint64_t stored = 0;
  uint64_t parts = 0;
  uint64_t failed = 0;
  uint64_t unclaimed = 0;  // parts whose id nobody issued
};

// Owner: control's main. Thread: control's. Ends: before the store and the executor's loop; answers
// that are still owed are not given.
class Join {
 public:
  static constexpr Millis kHeld{30'000};         // a part without its capture
  static constexpr Millis kLook{1'000};          // between two looks into the store meanwhile
  static constexpr Millis kWait{60'000};         // for the first part, after the response
  static constexpr Millis kUnaskedWait{30'000};  // the same where no agent acknowledged
  static constexpr Millis kMerge{60'000};        // for further parts, after the first
  static constexpr Millis kLostGrace{5'000};     // after a restart, for captures kept by proxies
  static constexpr Millis kSaveRetry{2'000};     // after the store was away
  static constexpr Millis kFullFor{10'000};      // then one more is tried
  static constexpr Millis kRemember{600'000};    // settled ids, for repeated uploads
  static constexpr Millis kIdAge{600'000};       // an unknown id older than this is not held
  static constexpr Millis kIdAhead{60'000};      // … nor one from further in the future
  static constexpr size_t kPartsMax = 16;        // of one profile
  static constexpr size_t kHeldPartsMax = 256;   // of all profiles, not stored yet
  static constexpr size_t kEntriesMax = 65'536;  // beyond: the oldest ids are forgotten

  // The secrets that a service's uploads may be signed with, for records of a former process.
  using KidsOfService = std::function<std::vector<std::string>(const std::string& service)>;

  Join(Executor& executor, Store& store, PartAssembler& assembler, JoinEvents& events,
       KidsOfService kids_of_service);
  ~Join();
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  void onCapture(const agent::CaptureRecord& capture);
  // A verified and decoded part; `done` is called once.
  void onPart(const agent::ProfileId& id, std::shared_ptr<const Part> part, PartDone done);
  // A part that can never be stored: Oversized or Undecodable. Where no other part comes, that is
  // the reason of the failure; a signed one (`verified`) settles at once.
  void onBadPart(const agent::ProfileId& id, FailReason reason, bool verified);

  // Takes up what a former process left running or waiting. Call once, at the start.
  void recover();
  // The record was deleted on purpose: what still comes for it is refused.
  void onErased(const std::string& id);

  // The record of a capture that is known here and not forgotten; null otherwise. It may be ahead
  // of the store, but Stored only once it is.
  const ProfileRecord* find(std::string_view id) const;
  JoinStats stats() const;
  // Whether the store has refused a write for lack of room within the last kFullFor, and taken none
  // since: new captures would be lost.
  bool storeFull() const;

 private:
  struct Waiting;
  struct Entry;
  using Entries = std::map<std::string, std::unique_ptr<Entry>, std::less<>>;

  Entry* findEntry(std::string_view id) const;
  Entry& obtain(std::string_view id);
  void look(Entry& entry);
  void onLooked(Entry& entry, proxy::Result<ProfileRecord> found);
  void onLookFailed(Entry& entry, const proxy::Error& error);
  void adopt(Entry& entry, ProfileRecord record);
  void unite(Entry& entry, ProfileRecord stored);
  void recoverPage(ProfileState state, std::string cursor);
  void onCaptureEnd(Entry& entry, const agent::CaptureRecord& capture);

  void pump(Entry& entry);
  void assemble(Entry& entry, std::optional<std::string> stored_body);
  void onAssembled(Entry& entry, proxy::Result<Assembled> assembled);
  void onPartFailed(Entry& entry, const proxy::Error& error);
  void onPartSaved(Entry& entry, const Assembled& assembled, ProfileState saved_as);
  void finishPart(Entry& entry, PartOutcome outcome);

  void settle(Entry& entry);
  void change(Entry& entry);
  void flush(Entry& entry);
  void save(Entry& entry, ProfileRecord record, std::optional<std::string> body, Done<> done);
  void onSaved(Entry& entry, const proxy::Result<>& saved);
  void drop(Entry& entry);
  void noteWrite(const proxy::Error* error);

  void schedule(Entry& entry);
  void onTimer(Entry& entry);

  // Runs `then` with the entry when the store or the assembler has answered, if it is still there.
  template <typename T, typename Then>
  Done<T> resume(Entry& entry, Then then);

  Executor& executor_;
  Store& store_;
  PartAssembler& assembler_;
  JoinEvents& events_;
  KidsOfService kids_of_service_;
  Entries entries_;
  uint64_t last_serial_ = 0;
  size_t held_parts_ = 0;
  Executor::TimerId recover_timer_ = Executor::kNoTimer;
  proxy::TimePoint full_until_;
  JoinStats counters_;
};

}  // namespace flamegate::control
