// Profiles in one SQLite file, for a single control process: the embedded store.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "control/store/medium.h"
#include "control/store/sqlite_session.h"
#include "proxy/base/fd.h"

namespace flamegate::control {

// The file FILE (with SQLite's FILE-wal and FILE-shm) in WAL mode; FILE.lock keeps a second process
// out. Commits are in the file system's hands at once and on the disk within moments
// (synchronous=NORMAL): the end of the process loses nothing, a power cut at most the last commits.
// A file that is damaged or no database is renamed to FILE.damaged-TIME, and what can still be read
// of it is copied into a new one.
class SqliteMedium final : public StoreMedium {
 public:
  // Conflict: another process has the file. A file that cannot be opened at present is no failure;
  // open() tries again.
  static proxy::Result<std::unique_ptr<SqliteMedium>> create(std::string path);
  ~SqliteMedium() override;

  std::string_view kind() const override { return "embedded"; }
  proxy::Result<> open(RecordIndex& index, const Cutoff& cutoff, bool rebuild) override;
  proxy::Result<> refresh(RecordIndex& index) override;
  proxy::Result<> begin() override;
  proxy::Result<> commit() override;
  proxy::Result<> modify(const std::string& id, const Modification& modification) override;
  proxy::Result<> erase(std::span<const std::string> ids) override;
  proxy::Result<std::vector<std::optional<std::string>>> documents(
      std::span<const std::string> ids) override;
  proxy::Result<std::optional<std::string>> body(const std::string& id) override;
  proxy::Result<> revoke(const RevokedToken& token, WallTime now) override;
  proxy::Result<std::vector<RevokedToken>> revoked(WallTime now) override;
  proxy::Result<> probe() override;
  proxy::Result<bool> tidy(const Cutoff& cutoff) override;

 private:
  explicit SqliteMedium(std::string path);
  proxy::Result<> takeLock();
  proxy::Result<> ensureSession();
  proxy::Result<> openSession();
  bool setAside();
  proxy::Result<> load(RecordIndex& index, const Cutoff& cutoff);
  template <typename T>
  proxy::Result<T> grouped(proxy::Result<T> result);
  proxy::Result<> write(const StoredProfile& profile);
  proxy::Result<bool> eraseLeftovers(const Cutoff& cutoff);
  proxy::Result<bool> giveSpaceBack();

  const std::string path_;
  proxy::UniqueFd lock_;
  std::unique_ptr<SqliteSession> session_;
  bool loaded_ = false;     // the index knows what the session's file holds
  bool leftovers_ = false;  // expired profiles may lie in the file that the index never saw
  std::optional<std::string> salvage_from_;  // a file set aside and not yet copied from
  std::optional<proxy::Error> group_error_;  // the first of the writes since begin()
  std::optional<proxy::Error> open_error_;   // of the last attempt; holds until next_attempt_
  std::chrono::steady_clock::time_point next_attempt_{};
};

}  // namespace flamegate::control
