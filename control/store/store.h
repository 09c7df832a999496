// The store of profiles: what outlives a request, a control process and, in Redis, a machine.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control/store/record.h"
#include "proxy/base/result.h"

namespace flamegate::control {

class ProfileKeeper;
class StoreOperation;

// A pin keeps a profile this long; sweeps renew it while it stands.
inline constexpr std::chrono::hours kPinTtl{90 * 24};

// Changes the record it is given. It may run more than once, also on its own result (another
// process changed the record in between, or the answer to a write was lost), on the store's thread,
// and must not block. The id and the store's own fields cannot be changed.
using RecordChange = std::function<void(ProfileRecord&)>;

// Receives the outcome of one call, see Store.
template <typename T = void>
using Done = std::function<void(proxy::Result<T>)>;

struct RevokedToken {
  std::string jti;
  WallTime until;  // when the token would have expired; forgotten afterwards
  friend bool operator==(const RevokedToken&, const RevokedToken&) = default;
};

struct StoreStats {
  std::string_view kind;  // "memory", "embedded", "redis"
  bool available = true;  // no trouble since the last write that worked (sweeps write, too)
  std::string trouble;    // the latest failure's text while not available
  uint64_t profiles = 0;
  uint64_t pinned = 0;
  uint64_t bytes = 0;              // metadata and bodies, as retention counts them
  std::optional<WallTime> oldest;  // stored_at of the oldest
  // Since the process began:
  uint64_t puts = 0;
  uint64_t evicted_age = 0;
  uint64_t evicted_bytes = 0;
  uint64_t evicted_count = 0;
  uint64_t failures = 0;       // calls that ended in Unavailable, Timeout, Full or Io
  uint64_t queue_refused = 0;  // of them, because the queue was full
};

// Bounds of the queue in front of the store's thread.
struct QueueLimits {
  size_t operations = 4096;
  size_t bytes = 64u << 20;                       // bodies and metadata waiting to be written
  std::chrono::milliseconds sweep_every{10'000};  // zero: only on request
};

// The asynchronous front of the store, whatever its medium: memory, embedded SQLite or Redis.
//
// Every call takes its arguments over, returns at once and calls `done` exactly once: on the
// store's thread, or, when the queue is full, on the caller's before the call returns. `done` must
// not block, throw or end its Store: it posts the result, which it owns, to the caller's own loop.
// Calls of one thread take effect, and call back, in order.
//
// Errors: NotFound (no such profile, or it has expired), TooLarge (body or metadata), Malformed (a
// cursor or an id), Unsupported (pins while they are switched off), Conflict (other processes keep
// changing the record), Full (queue, disk or Redis's memory), Unavailable (medium away, read-only
// or starting up), Timeout. After an error of a write nothing of it is stored, except after Timeout
// or when Redis goes away in the middle, where it may be; repeating the call is then safe. An
// acknowledged write survives the end of the process; with SQLite the last instants may be lost in
// a power cut, never the file.
//
// Owner: control's main. Thread: any may call; one thread of its own works.
// Ends: the destructor refuses new calls, works the queue off, then joins the thread.
class Store {
 public:
  explicit Store(std::unique_ptr<ProfileKeeper> keeper, QueueLimits limits = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Stores a record, or replaces the one with its id; without a body, a stored body stays.
  // Age counts from the first put; a pin stays.
  void put(ProfileRecord record, std::optional<std::string> body, Done<> done);

  // Changes a stored record, and its body where one is given, as one step. Returns the new record.
  void update(std::string id, RecordChange change, std::optional<std::string> body,
              Done<ProfileRecord> done);

  void find(std::string id, Done<ProfileRecord> done);

  // The bytes as they were put: a gzipped pprof file. NotFound also for a record without a body.
  void body(std::string id, Done<std::string> done);

  void list(ListQuery query, Done<ListPage> done);

  // At most `limit` groups, those with most profiles first; cursor, sort and limit of the query do
  // not matter. Records without the name in question are in no group.
  void groups(GroupBy by, ListQuery filters, size_t limit, Done<std::vector<Group>> done);

  void erase(std::string id, Done<> done);

  // Keeps the profile for kPinTtl from now, against retention by age, bytes and number.
  void pin(std::string id, Done<ProfileRecord> done);
  // Back to the retention by age, which counts from stored_at.
  void unpin(std::string id, Done<ProfileRecord> done);

  void revoke(RevokedToken token, Done<> done);
  // All that have not expired.
  void revoked(Done<std::vector<RevokedToken>> done);

  void stats(Done<StoreStats> done);

  // Applies retention, renews pins, gives space back. Runs by itself every `sweep_every`.
  void sweep(Done<> done);

 private:
  using Operations = std::deque<std::unique_ptr<StoreOperation>>;

  template <typename T, typename Work>
  void submit(bool writes, size_t bytes, Done<T> done, Work work);
  bool enqueue(std::unique_ptr<StoreOperation>& operation);
  void runThread();
  Operations takeBatch(std::chrono::steady_clock::time_point until);
  void runBatch(Operations batch);
  void runWrites(std::span<std::unique_ptr<StoreOperation>> writes);
  std::chrono::steady_clock::time_point runSweep();
  void note(const proxy::Error* failure, bool wrote);
  void fillStats(StoreStats& stats) const;

  const QueueLimits limits_;

  // The store's thread only.
  const std::unique_ptr<ProfileKeeper> keeper_;
  bool available_ = true;
  std::string trouble_;
  uint64_t failures_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  Operations queue_;         // guarded by mutex_
  size_t queued_bytes_ = 0;  // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  std::atomic<uint64_t> queue_refused_{0};

  std::thread thread_;  // last: it starts when all else stands
};

}  // namespace flamegate::control
