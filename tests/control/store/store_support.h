// What the store's tests share: temporary folders, a clock moved by hand, waiting for a call's
// outcome, sample records, and a real redis-server.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "config/schema/config.h"
#include "control/store/create_store.h"

namespace flamegate::control {

// A folder of its own, removed with all that is in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Starts at the present, so that a real server's expiry agrees, and moves by hand.
class FakeWallClock {
 public:
  WallClock asClock() {
    return [this] { return WallTime(Millis(now_.load())); };
  }
  WallTime now() const { return WallTime(Millis(now_.load())); }
  void advance(Millis by) { now_ += by.count(); }

 private:
  std::atomic<int64_t> now_{systemWallTime().time_since_epoch().count()};
};

// Calls a Store and waits for the outcome: `wait<ListPage>([&](auto done) { store.list(q, done);
// })`.
template <typename T, typename Call>
proxy::Result<T> wait(Call call) {
  auto promise = std::make_shared<std::promise<proxy::Result<T>>>();
  auto outcome = promise->get_future();
  call(Done<T>([promise](proxy::Result<T> result) { promise->set_value(std::move(result)); }));
  return outcome.get();
}

// The calls of a Store, each waiting for its outcome.
class WaitingStore {
 public:
  WaitingStore() = default;
  explicit WaitingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Store& get() { return *store_; }
  void close() { store_.reset(); }

  proxy::Result<> put(ProfileRecord record, std::optional<std::string> body = std::nullopt);
  proxy::Result<ProfileRecord> update(const std::string& id, RecordChange change,
                                      std::optional<std::string> body = std::nullopt);
  proxy::Result<ProfileRecord> find(const std::string& id);
  proxy::Result<std::string> body(const std::string& id);
  proxy::Result<ListPage> list(ListQuery query = {});
  proxy::Result<std::vector<Group>> groups(GroupBy by, ListQuery filters = {}, size_t limit = 100);
  proxy::Result<> erase(const std::string& id);
  proxy::Result<ProfileRecord> pin(const std::string& id);
  proxy::Result<ProfileRecord> unpin(const std::string& id);
  proxy::Result<> revoke(RevokedToken token);
  proxy::Result<std::vector<RevokedToken>> revoked();
  proxy::Result<StoreStats> stats();
  proxy::Result<> sweep();

 private:
  std::unique_ptr<Store> store_;
};

// "0000000000000000000n".
std::string testId(uint64_t number);
// A stored request with most fields set, made from its number.
ProfileRecord testRecord(uint64_t number, WallTime started_at = systemWallTime());
std::vector<std::string> idsOf(const ListPage& page);
// A text that does not compress to itself: bytes from a fixed generator.
std::string testBody(size_t size, uint32_t seed = 1);

// Without sweeps of its own, so that tests decide when.
StoreTuning manualTuning(WallClock clock = systemWallTime);

// A real redis-server in a folder of its own, on a unix socket; ended with the object.
// Without the program in PATH, available() is false and tests skip themselves.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> arguments = {});
  ~RedisServer();

  static bool available();
  void start();
  void stop();  // as by a crash: SIGKILL

  config::Store config() const;
  // One command by a client of its own; the reply as redis-cli prints it.
  std::string command(const std::vector<std::string>& arguments) const;
  std::vector<std::string> keys() const;
  void setLogin(std::string user, std::string password);

 private:
  TempDir dir_;
  std::vector<std::string> arguments_;
  std::string user_;
  std::string password_;
  pid_t pid_ = -1;
};

}  // namespace flamegate::control
