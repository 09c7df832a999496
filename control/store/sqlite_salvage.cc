#include "control/store/sqlite_salvage.h"

#include <chrono>
#include <optional>

#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

// The service must be up within seconds, whatever the size of the file.
constexpr std::chrono::seconds kSalvageMax{5};

struct Row {
  int64_t seq = 0;
  std::string id;
  int64_t stored_at = 0;
  int64_t pinned_until = 0;
  std::string summary;
  std::string document;
  std::optional<std::string> body;
};

// Reads rows of the damaged file. Thread and owner: copyReadable().
class Source {
 public:
  static proxy::Result<Source> create(SqliteDatabase& from, const char* select) {
    Source out;
    for (auto [statement, sql] :
         {std::pair(&out.profiles_, select),
          std::pair(&out.document_, "SELECT json FROM document WHERE seq = ?1"),
          std::pair(&out.body_, "SELECT bytes FROM body WHERE seq = ?1")}) {
      auto prepared = from.prepare(sql);
      if (!prepared) return proxy::fail(std::move(prepared.error()));
      *statement = std::move(*prepared);
    }
    return out;
  }

  // False at the end and where the scan breaks off. A row of which a part cannot be read has no id.
  bool next(Row& row) {
    row = Row{};
    auto found = profiles_.step();
    if (!found || !*found) return false;
    row.seq = profiles_.integer(0);
    auto document = read(document_, row.seq);
    auto body = read(body_, row.seq);
    if (!document || !*document || !body) return true;
    row.id = profiles_.bytes(1);
    row.stored_at = profiles_.integer(2);
    row.pinned_until = profiles_.integer(3);
    row.summary = profiles_.bytes(4);
    row.document = std::move(**document);
    row.body = std::move(*body);
    return true;
  }

 private:
  static proxy::Result<std::optional<std::string>> read(SqliteStatement& find, int64_t seq) {
    find.bind(1, seq);
    auto found = find.step();
    if (!found) return proxy::fail(std::move(found.error()));
    if (!*found) return std::nullopt;
    std::string bytes(find.bytes(0));
    find.reset();
    return bytes;
  }

  SqliteStatement profiles_, document_, body_;
};

// Writes rows into the new file; a known id is left alone.
class Target {
 public:
  static proxy::Result<Target> create(SqliteDatabase& to) {
    Target out;
    for (auto [statement, sql] :
         {std::pair(&out.profile_,
                    "INSERT OR IGNORE INTO profile VALUES (?1, ?2, ?3, ?4, ?5)"
                    " RETURNING seq"),
          std::pair(&out.document_, "INSERT INTO document VALUES (?1, ?2)"),
          std::pair(&out.body_, "INSERT INTO body VALUES (?1, ?2)")}) {
      auto prepared = to.prepare(sql);
      if (!prepared) return proxy::fail(std::move(prepared.error()));
      *statement = std::move(*prepared);
    }
    return out;
  }

  // True: it was new.
  proxy::Result<bool> add(const Row& row) {
    profile_.bind(1, row.seq);
    profile_.bind(2, std::string_view(row.id));
    profile_.bind(3, row.stored_at);
    profile_.bind(4, row.pinned_until);
    profile_.bindBlob(5, row.summary);
    auto added = profile_.step();
    if (!added || !*added) return added;
    if (auto done = profile_.run(); !done) return proxy::fail(std::move(done.error()));
    if (auto done = write(document_, row.seq, row.document); !done) {
      return proxy::fail(std::move(done.error()));
    }
    if (!row.body) return true;
    if (auto done = write(body_, row.seq, *row.body); !done) {
      return proxy::fail(std::move(done.error()));
    }
    return true;
  }

 private:
  static proxy::Result<> write(SqliteStatement& put, int64_t seq, const std::string& bytes) {
    put.bind(1, seq);
    put.bindBlob(2, bytes);
    return put.run();
  }

  SqliteStatement profile_, document_, body_;
};

proxy::Result<uint64_t> copyProfiles(SqliteDatabase& from, const char* select, Target& target) {
  auto source = Source::create(from, select);
  if (!source) return 0;
  uint64_t copied = 0;
  Row row;
  const auto end = std::chrono::steady_clock::now() + kSalvageMax;
  while (std::chrono::steady_clock::now() < end && source->next(row)) {
    if (row.id.empty()) continue;
    auto added = target.add(row);
    if (!added) return proxy::fail(std::move(added.error()));
    if (*added) ++copied;
  }
  return copied;
}

// A token must not come to life again because a profile was damaged.
proxy::Result<> copyRevoked(SqliteDatabase& from, SqliteDatabase& to) {
  auto rows = from.prepare("SELECT jti, until FROM revoked");
  auto put = to.prepare("INSERT OR IGNORE INTO revoked VALUES (?1, ?2)");
  if (!rows) return {};
  if (!put) return proxy::fail(std::move(put.error()));
  for (;;) {
    auto row = rows->step();
    if (!row || !*row) return {};
    put->bind(1, rows->bytes(0));
    put->bind(2, rows->integer(1));
    if (auto done = put->run(); !done) return done;
  }
}

// A scan that breaks off is taken up from the other end.
proxy::Result<uint64_t> copyAll(SqliteDatabase& from, SqliteDatabase& to) {
  auto target = Target::create(to);
  if (!target) return proxy::fail(std::move(target.error()));
  if (auto done = copyRevoked(from, to); !done) return proxy::fail(std::move(done.error()));
  auto forward = copyProfiles(from,
                              "SELECT seq, id, stored_at, pinned_until, summary"
                              " FROM profile ORDER BY seq",
                              *target);
  if (!forward || !from.damaged()) return forward;
  auto backward = copyProfiles(from,
                               "SELECT seq, id, stored_at, pinned_until, summary"
                               " FROM profile ORDER BY seq DESC",
                               *target);
  if (!backward) return backward;
  return *forward + *backward;
}

}  // namespace

void copyReadable(const std::string& damaged_path, SqliteDatabase& to) {
  auto from = SqliteDatabase::create(damaged_path);
  if (!from || !to.execute("BEGIN IMMEDIATE")) return;
  // Without it SQLite reads nothing of a file that is shorter than its first page says.
  static_cast<void>((*from)->execute("PRAGMA writable_schema = ON"));
  auto copied = copyAll(**from, to);
  const bool done = copied && to.execute("COMMIT");
  if (!done && to.inTransaction()) static_cast<void>(to.execute("ROLLBACK"));
  proxy::logWarning(
      "store", "copied " + std::to_string(done ? *copied : 0) + " profiles from " + damaged_path);
}

}  // namespace flamegate::control
