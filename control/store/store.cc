#include "control/store/store.h"

#include <pthread.h>

#include "control/store/profile_keeper.h"
#include "proxy/base/check.h"
#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::Error;
using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Result;
using SteadyTime = std::chrono::steady_clock::time_point;

// One turn of the thread, and so one transaction, takes at most this much.
constexpr size_t kBatchOperations = 256;
constexpr size_t kBatchBytes = 16u << 20;
// What a queued call weighs beside its body: record, strings, bookkeeping.
constexpr size_t kOperationBytes = 2048;
// When a sweep left work over, the next follows after this pause.
constexpr std::chrono::milliseconds kSweepPause{200};

// The longest the thread sleeps; a wait without an end is not portable.
constexpr std::chrono::hours kIdleMax{1};

// The medium's fault rather than the caller's.
bool isTrouble(ErrorCode code) {
  return code == ErrorCode::Unavailable || code == ErrorCode::Timeout || code == ErrorCode::Full ||
         code == ErrorCode::Io;
}

}  // namespace

// One queued call. Owner: the queue, then the batch. Thread: made by the caller, run by the
// store's.
class StoreOperation {
 public:
  StoreOperation(bool writes, size_t bytes) : writes_(writes), bytes_(bytes) {}
  virtual ~StoreOperation() = default;

  virtual void run(ProfileKeeper& keeper) = 0;
  // Calls back, with `failure` where one is given; returns the error that was reported, if any.
  virtual std::optional<Error> finish(const Error* failure) = 0;

  bool writes() const { return writes_; }
  size_t bytes() const { return bytes_; }

 private:
  const bool writes_;
  const size_t bytes_;
};

namespace {

template <typename T, typename Work>
class OperationOf final : public StoreOperation {
 public:
  OperationOf(bool writes, size_t bytes, Done<T> done, Work work)
      : StoreOperation(writes, bytes), done_(std::move(done)), work_(std::move(work)) {}

  void run(ProfileKeeper& keeper) override { result_.emplace(work_(keeper)); }

  std::optional<Error> finish(const Error* failure) override {
    if (failure) result_.emplace(proxy::fail(*failure));
    CHECK(result_.has_value());
    const std::optional<Error> error =
        *result_ ? std::nullopt : std::optional<Error>(result_->error());
    done_(std::move(*result_));
    return error;
  }

 private:
  Done<T> done_;
  Work work_;
  std::optional<Result<T>> result_;
};

size_t bytesOf(const std::optional<std::string>& body) { return body ? body->size() : 0; }

}  // namespace

Store::Store(std::unique_ptr<ProfileKeeper> keeper, QueueLimits limits)
    : limits_(limits), keeper_(std::move(keeper)), thread_([this] { runThread(); }) {}

Store::~Store() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

template <typename T, typename Work>
void Store::submit(bool writes, size_t bytes, Done<T> done, Work work) {
  std::unique_ptr<StoreOperation> operation = std::make_unique<OperationOf<T, Work>>(
      writes, bytes + kOperationBytes, std::move(done), std::move(work));
  if (enqueue(operation)) return;
  queue_refused_.fetch_add(1, std::memory_order_relaxed);
  const Error full{ErrorCode::Full, ErrorSource::Store, proxy::Retry::Yes,
                   "too many calls wait for the store"};
  operation->finish(&full);
}

// Leaves the operation with the caller when there is no room.
bool Store::enqueue(std::unique_ptr<StoreOperation>& operation) {
  {
    const std::lock_guard lock(mutex_);
    const bool room =
        queue_.size() < limits_.operations && queued_bytes_ + operation->bytes() <= limits_.bytes;
    if (stopping_ || !room) return false;
    queued_bytes_ += operation->bytes();
    queue_.push_back(std::move(operation));
  }
  wake_.notify_one();
  return true;
}

void Store::put(ProfileRecord record, std::optional<std::string> body, Done<> done) {
  const size_t bytes = bytesOf(body);
  submit<void>(true, bytes, std::move(done),
               [record = std::move(record), body = std::move(body)](ProfileKeeper& keeper) {
                 return keeper.put(record, body);
               });
}

void Store::update(std::string id, RecordChange change, std::optional<std::string> body,
                   Done<ProfileRecord> done) {
  const size_t bytes = bytesOf(body);
  submit<ProfileRecord>(true, bytes, std::move(done),
                        [id = std::move(id), change = std::move(change), body = std::move(body)](
                            ProfileKeeper& keeper) { return keeper.update(id, change, body); });
}

void Store::find(std::string id, Done<ProfileRecord> done) {
  submit<ProfileRecord>(false, 0, std::move(done),
                        [id = std::move(id)](ProfileKeeper& keeper) { return keeper.find(id); });
}

void Store::body(std::string id, Done<std::string> done) {
  submit<std::string>(false, 0, std::move(done),
                      [id = std::move(id)](ProfileKeeper& keeper) { return keeper.body(id); });
}

void Store::list(ListQuery query, Done<ListPage> done) {
  submit<ListPage>(false, 0, std::move(done), [query = std::move(query)](ProfileKeeper& keeper) {
    return keeper.list(query);
  });
}

void Store::groups(GroupBy by, ListQuery filters, size_t limit, Done<std::vector<Group>> done) {
  submit<std::vector<Group>>(false, 0, std::move(done),
                             [by, filters = std::move(filters), limit](ProfileKeeper& keeper) {
                               return keeper.groups(by, filters, limit);
                             });
}

void Store::erase(std::string id, Done<> done) {
  submit<void>(true, 0, std::move(done),
               [id = std::move(id)](ProfileKeeper& keeper) { return keeper.erase(id); });
}

void Store::pin(std::string id, Done<ProfileRecord> done) {
  submit<ProfileRecord>(true, 0, std::move(done),
                        [id = std::move(id)](ProfileKeeper& keeper) { return keeper.pin(id); });
}

void Store::unpin(std::string id, Done<ProfileRecord> done) {
  submit<ProfileRecord>(true, 0, std::move(done),
                        [id = std::move(id)](ProfileKeeper& keeper) { return keeper.unpin(id); });
}

void Store::revoke(RevokedToken token, Done<> done) {
  submit<void>(true, 0, std::move(done),
               [token = std::move(token)](ProfileKeeper& keeper) { return keeper.revoke(token); });
}

void Store::revoked(Done<std::vector<RevokedToken>> done) {
  submit<std::vector<RevokedToken>>(false, 0, std::move(done),
                                    [](ProfileKeeper& keeper) { return keeper.revoked(); });
}

// Answers while the medium is away, too: then with what is known.
void Store::stats(Done<StoreStats> done) {
  submit<StoreStats>(false, 0, std::move(done),
                     [this](ProfileKeeper& keeper) -> Result<StoreStats> {
                       auto stats = keeper.stats();
                       note(stats ? nullptr : &stats.error(), false);
                       StoreStats out = stats ? std::move(*stats) : StoreStats{};
                       fillStats(out);
                       return out;
                     });
}

void Store::sweep(Done<> done) {
  submit<void>(false, 0, std::move(done), [this](ProfileKeeper& keeper) -> Result<> {
    auto more = keeper.sweep(!available_);
    while (more && *more) more = keeper.sweep(false);
    if (!more) return proxy::fail(std::move(more.error()));
    note(nullptr, true);
    return {};
  });
}

void Store::fillStats(StoreStats& stats) const {
  stats.kind = keeper_->kind();
  stats.available = available_;
  stats.trouble = trouble_;
  stats.queue_refused = queue_refused_.load(std::memory_order_relaxed);
  stats.failures = failures_ + stats.queue_refused;
}

// Keeps the account of the medium's health, and tells the operator when it turns. Only a write
// shows that profiles can be stored again: a full medium still answers reads.
void Store::note(const Error* failure, bool wrote) {
  if (failure && isTrouble(failure->code)) {
    if (available_) {
      proxy::logError("store", "profiles cannot be stored: " + failure->detail);
    }
    available_ = false;
    trouble_ = failure->detail;
    ++failures_;
  } else if (!failure && wrote && !available_) {
    proxy::logInfo("store", "profiles can be stored again");
    available_ = true;
    trouble_.clear();
  }
}

Store::Operations Store::takeBatch(SteadyTime until) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, until, [this] { return stopping_ || !queue_.empty(); });
  Operations batch;
  size_t bytes = 0;
  while (!queue_.empty() && batch.size() < kBatchOperations && bytes < kBatchBytes) {
    bytes += queue_.front()->bytes();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_bytes_ -= bytes;
  return batch;
}

void Store::runThread() {
  pthread_setname_np(pthread_self(), "store");
  SteadyTime next_sweep = limits_.sweep_every.count() > 0 ? SteadyTime::min() : SteadyTime::max();
  for (;;) {
    if (std::chrono::steady_clock::now() >= next_sweep) next_sweep = runSweep();
    Operations batch = takeBatch(std::min(next_sweep, std::chrono::steady_clock::now() + kIdleMax));
    if (!batch.empty()) {
      runBatch(std::move(batch));
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (stopping_ && queue_.empty()) return;
  }
}

SteadyTime Store::runSweep() {
  auto more = keeper_->sweep(!available_);
  note(more ? nullptr : &more.error(), true);
  const auto pause = more && *more ? kSweepPause : limits_.sweep_every;
  return std::chrono::steady_clock::now() + pause;
}

// Runs of writes share a transaction; a read sees all that came before it.
void Store::runBatch(Operations batch) {
  std::vector<std::unique_ptr<StoreOperation>> operations(std::make_move_iterator(batch.begin()),
                                                          std::make_move_iterator(batch.end()));
  for (size_t i = 0; i < operations.size();) {
    size_t end = i;
    while (end < operations.size() && operations[end]->writes()) ++end;
    if (end > i) {
      runWrites(std::span(operations).subspan(i, end - i));
      i = end;
      continue;
    }
    operations[i]->run(*keeper_);
    const auto error = operations[i]->finish(nullptr);
    note(error ? &*error : nullptr, false);
    operations[i++].reset();
  }
}

void Store::runWrites(std::span<std::unique_ptr<StoreOperation>> writes) {
  auto outcome = keeper_->begin();
  if (outcome) {
    for (const auto& write : writes) write->run(*keeper_);
    outcome = keeper_->commit();
  }
  for (auto& write : writes) {
    const auto error = write->finish(outcome ? nullptr : &outcome.error());
    note(error ? &*error : nullptr, true);
    write.reset();
  }
}

}  // namespace flamegate::control
