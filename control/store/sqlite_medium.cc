#include "control/store/sqlite_medium.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>

#include "control/store/sqlite_salvage.h"
#include "control/store/sqlite_session.h"
#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Retry;

// A file that cannot be opened is tried again this often.
constexpr std::chrono::seconds kReopenEvery{1};
// Free pages (of 4 KiB) that are kept for coming profiles, and that one step gives back.
constexpr int64_t kFreePagesKept = 512;
// Rows that one step deletes.
constexpr int64_t kLeftoverStep = 1000;

int64_t millis(WallTime time) { return time.time_since_epoch().count(); }

proxy::Result<std::optional<std::string>> findBytes(SqliteStatement& find, const std::string& id) {
  find.bind(1, std::string_view(id));
  auto row = find.step();
  if (!row) return proxy::fail(std::move(row.error()));
  if (!*row) return std::nullopt;
  std::string bytes(find.bytes(0));
  find.reset();
  return bytes;
}

int64_t pinMillis(const std::optional<WallTime>& time) { return time ? millis(*time) : 0; }

}  // namespace

SqliteMedium::SqliteMedium(std::string path) : path_(std::move(path)) {}
SqliteMedium::~SqliteMedium() = default;

proxy::Result<std::unique_ptr<SqliteMedium>> SqliteMedium::create(std::string path) {
  std::unique_ptr<SqliteMedium> medium(new SqliteMedium(std::move(path)));
  auto opened = medium->openSession();
  if (!opened && opened.error().code == ErrorCode::Conflict) {
    return proxy::fail(std::move(opened.error()));
  }
  return medium;
}

// The lock goes with the process, however that ends; its file stays.
proxy::Result<> SqliteMedium::takeLock() {
  if (lock_.valid()) return {};
  const std::string lock_path = path_ + ".lock";
  proxy::UniqueFd fd(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return proxy::fail(errno == ENOSPC ? ErrorCode::Full : ErrorCode::Unavailable,
                       ErrorSource::Store, lock_path + ": " + std::strerror(errno), Retry::Yes);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return proxy::fail(ErrorCode::Conflict, ErrorSource::Store,
                       path_ +
                           " is in use by another flamegate process; give this one a store.path"
                           " of its own, or share a store of kind redis");
  }
  lock_ = std::move(fd);
  return {};
}

proxy::Result<> SqliteMedium::openSession() {
  if (auto locked = takeLock(); !locked) return locked;
  auto session = SqliteSession::create(path_);
  if (!session && session.error().code == ErrorCode::Malformed && setAside()) {
    session = SqliteSession::create(path_);
  }
  if (!session) {
    if (session.error().code == ErrorCode::Malformed) session.error().code = ErrorCode::Unavailable;
    return proxy::fail(std::move(session.error()));
  }
  session_ = std::move(*session);
  loaded_ = false;
  leftovers_ = true;
  if (salvage_from_) {
    copyReadable(*salvage_from_, *session_->database);
    salvage_from_.reset();
  }
  return {};
}

// False when the damaged file could not be renamed.
bool SqliteMedium::setAside() {
  const std::string target = path_ + ".damaged-" + std::to_string(millis(systemWallTime()));
  if (std::rename(path_.c_str(), target.c_str()) != 0) {
    proxy::logError("store", path_ + " is damaged and cannot be renamed: " + std::strerror(errno));
    return false;
  }
  // The log belongs to the file; the shared memory is only a cache of the log's index.
  std::rename((path_ + "-wal").c_str(), (target + "-wal").c_str());
  std::remove((path_ + "-shm").c_str());
  proxy::logError("store", path_ + " is damaged or no database; it was renamed to " + target +
                               ", and a new one is begun");
  salvage_from_ = target;
  return true;
}

proxy::Result<> SqliteMedium::ensureSession() {
  if (session_ && session_->database->damaged()) {
    session_.reset();
    setAside();
  }
  if (session_ && !session_->isAt(path_)) {
    proxy::logWarning("store", path_ + " was removed; a new one is begun");
    session_.reset();
  }
  if (session_) return {};
  const auto now = std::chrono::steady_clock::now();
  if (open_error_ && now < next_attempt_) return proxy::fail(*open_error_);
  open_error_.reset();
  auto opened = openSession();
  if (!opened) {
    open_error_ = opened.error();
    next_attempt_ = now + kReopenEvery;
  }
  return opened;
}

proxy::Result<> SqliteMedium::open(RecordIndex& index, const Cutoff& cutoff, bool rebuild) {
  if (auto ready = ensureSession(); !ready) return ready;
  if (loaded_ && !rebuild) return {};
  loaded_ = false;
  auto loaded = load(index, cutoff);
  if (!loaded && session_->database->damaged()) {
    if (auto ready = ensureSession(); !ready) return ready;
    loaded = load(index, cutoff);
  }
  loaded_ = loaded.has_value();
  return loaded;
}

proxy::Result<> SqliteMedium::load(RecordIndex& index, const Cutoff& cutoff) {
  index.clear();
  auto rows = session_->database->prepare(
      "SELECT summary FROM profile WHERE stored_at > ?1 OR pinned_until > ?2 ORDER BY seq");
  if (!rows) return proxy::fail(std::move(rows.error()));
  rows->bind(1, millis(cutoff.stored_at));
  rows->bind(2, millis(cutoff.now));
  uint64_t broken = 0;
  for (;;) {
    auto row = rows->step();
    if (!row) return proxy::fail(std::move(row.error()));
    if (!*row) break;
    auto summary = findSummary(rows->bytes(0));
    if (summary) {
      index.put(std::move(*summary));
    } else {
      ++broken;
    }
  }
  if (broken > 0) {
    proxy::logWarning("store", "skipped " + std::to_string(broken) + " broken records");
  }
  return {};
}

proxy::Result<> SqliteMedium::refresh(RecordIndex&) { return {}; }

proxy::Result<> SqliteMedium::begin() {
  group_error_.reset();
  return session_->sql.begin.run();
}

// After an error SQLite may have taken the transaction back by itself.
proxy::Result<> SqliteMedium::commit() {
  if (!group_error_) {
    auto committed = session_->sql.commit.run();
    if (committed) return committed;
    group_error_ = std::move(committed.error());
  }
  if (session_->database->inTransaction()) static_cast<void>(session_->sql.rollback.run());
  return proxy::fail(*group_error_);
}

// Remembers the first error of a group: half of a profile must not be committed.
template <typename T>
proxy::Result<T> SqliteMedium::grouped(proxy::Result<T> result) {
  if (!result && !group_error_) group_error_ = result.error();
  return result;
}

proxy::Result<> SqliteMedium::modify(const std::string& id, const Modification& modification) {
  if (group_error_) return proxy::fail(*group_error_);
  SqliteStatement& find = session_->sql.find_document;
  find.bind(1, std::string_view(id));
  auto row = grouped(find.step());
  if (!row) return proxy::fail(std::move(row.error()));
  auto profile = modification(*row ? std::optional(find.bytes(0)) : std::nullopt);
  find.reset();
  if (!profile) return proxy::fail(std::move(profile.error()));
  return grouped(write(*profile));
}

proxy::Result<> SqliteMedium::write(const StoredProfile& profile) {
  const std::string summary = encodeSummary(profile.summary);
  SqliteStatement& put = session_->sql.put_profile;
  put.bind(1, std::string_view(profile.id));
  put.bind(2, millis(profile.summary.stored_at));
  put.bind(3, pinMillis(profile.summary.pinned_until));
  put.bindBlob(4, summary);
  auto row = put.step();
  if (!row) return proxy::fail(std::move(row.error()));
  const int64_t seq = put.integer(0);
  if (auto done = put.run(); !done) return done;

  SqliteStatement& put_document = session_->sql.put_document;
  put_document.bind(1, seq);
  put_document.bindBlob(2, profile.document);
  if (auto done = put_document.run(); !done || !profile.body) return done;

  SqliteStatement& put_body = session_->sql.put_body;
  put_body.bind(1, seq);
  put_body.bindBlob(2, *profile.body);
  return put_body.run();
}

proxy::Result<> SqliteMedium::erase(std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    SqliteStatement& erase = session_->sql.erase;
    erase.bind(1, std::string_view(id));
    if (auto done = grouped(erase.run()); !done) return done;
  }
  return {};
}

proxy::Result<std::vector<std::optional<std::string>>> SqliteMedium::documents(
    std::span<const std::string> ids) {
  std::vector<std::optional<std::string>> out;
  out.reserve(ids.size());
  for (const std::string& id : ids) {
    auto document = findBytes(session_->sql.find_document, id);
    if (!document) return proxy::fail(std::move(document.error()));
    out.push_back(std::move(*document));
  }
  return out;
}

proxy::Result<std::optional<std::string>> SqliteMedium::body(const std::string& id) {
  return findBytes(session_->sql.find_body, id);
}

proxy::Result<> SqliteMedium::revoke(const RevokedToken& token, WallTime now) {
  SqliteStatement& forget = session_->sql.forget_revoked;
  forget.bind(1, millis(now));
  if (auto done = grouped(forget.run()); !done) return done;
  SqliteStatement& revoke = session_->sql.revoke;
  revoke.bind(1, std::string_view(token.jti));
  revoke.bind(2, millis(token.until));
  return grouped(revoke.run());
}

proxy::Result<std::vector<RevokedToken>> SqliteMedium::revoked(WallTime now) {
  std::vector<RevokedToken> out;
  SqliteStatement& rows = session_->sql.revoked;
  rows.bind(1, millis(now));
  for (;;) {
    auto row = rows.step();
    if (!row) return proxy::fail(std::move(row.error()));
    if (!*row) return out;
    out.push_back({std::string(rows.bytes(0)), WallTime(Millis(rows.integer(1)))});
  }
}

proxy::Result<> SqliteMedium::probe() { return grouped(session_->sql.probe.run()); }

proxy::Result<bool> SqliteMedium::tidy(const Cutoff& cutoff) {
  auto more = eraseLeftovers(cutoff);
  if (!more || *more) return more;
  return giveSpaceBack();
}

proxy::Result<bool> SqliteMedium::eraseLeftovers(const Cutoff& cutoff) {
  if (!leftovers_) return false;
  SqliteStatement& erase = session_->sql.erase_leftovers;
  erase.bind(1, millis(cutoff.stored_at));
  erase.bind(2, millis(cutoff.now));
  erase.bind(3, kLeftoverStep);
  int64_t erased = 0;
  for (;;) {
    auto row = erase.step();
    if (!row) return row;
    if (!*row) break;
    ++erased;
  }
  leftovers_ = erased == kLeftoverStep;
  return leftovers_;
}

proxy::Result<bool> SqliteMedium::giveSpaceBack() {
  SqliteDatabase& database = *session_->database;
  auto free_pages = database.number("PRAGMA freelist_count");
  if (!free_pages) return proxy::fail(std::move(free_pages.error()));
  if (*free_pages <= kFreePagesKept) return false;
  if (auto done = database.execute("PRAGMA incremental_vacuum(4096)"); !done) {
    return proxy::fail(std::move(done.error()));
  }
  if (*free_pages > kFreePagesKept + 4096) return true;
  // The file itself shrinks when the log is carried over.
  if (auto done = database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !done) {
    return proxy::fail(std::move(done.error()));
  }
  return false;
}

}  // namespace flamegate::control
