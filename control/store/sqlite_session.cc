#include "control/store/sqlite_session.h"

#include <optional>

#include <sys/stat.h>

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

// "flmg"; so that no other program's database is taken for ours, and the other way round.
constexpr int64_t kApplicationId = 0x666c6d67;
constexpr int64_t kSchemaVersion = 1;

constexpr const char* kPragmas =
    "PRAGMA auto_vacuum = INCREMENTAL;"  // only in effect on a new file
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "PRAGMA cache_size = -16384;"
    "PRAGMA wal_autocheckpoint = 2000;"
    "PRAGMA journal_size_limit = 16777216;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA cell_size_check = ON;";

// Three tables, so that loading the index reads no document and changing a document no body.
// The order of seq is the order of arrival.
constexpr const char* kSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE profile(seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " stored_at INTEGER NOT NULL, pinned_until INTEGER NOT NULL, summary BLOB NOT NULL) STRICT;"
    "CREATE TABLE document(seq INTEGER PRIMARY KEY, json BLOB NOT NULL) STRICT;"
    "CREATE TABLE body(seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;"
    "CREATE TRIGGER profile_gone AFTER DELETE ON profile BEGIN"
    " DELETE FROM document WHERE seq = old.seq; DELETE FROM body WHERE seq = old.seq; END;"
    "CREATE TABLE revoked(jti TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE probe(one INTEGER PRIMARY KEY) STRICT;"
    "PRAGMA application_id = 1718381927;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

proxy::Result<> checkedSchema(SqliteDatabase& database) {
  auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return proxy::fail(std::move(tables.error()));
  if (*tables == 0) return database.execute(kSchema);
  auto application = database.number("PRAGMA application_id");
  if (!application) return proxy::fail(std::move(application.error()));
  auto version = database.number("PRAGMA user_version");
  if (!version) return proxy::fail(std::move(version.error()));
  if (*application != kApplicationId || *version != kSchemaVersion) {
    return proxy::fail(ErrorCode::Conflict, ErrorSource::Store,
                       "it is the database of another program or of a newer version");
  }
  return {};
}

}  // namespace

proxy::Result<SqliteStatements> SqliteStatements::prepare(SqliteDatabase& database) {
  std::optional<proxy::Error> error;
  const auto make = [&database, &error](const char* sql) {
    auto statement = database.prepare(sql);
    if (statement) return std::move(*statement);
    error = std::move(statement.error());
    return SqliteStatement();
  };
  SqliteStatements out;
  out.begin = make("BEGIN IMMEDIATE");
  out.commit = make("COMMIT");
  out.rollback = make("ROLLBACK");
  out.find_document = make("SELECT json FROM profile JOIN document USING (seq) WHERE id = ?1");
  out.find_body = make("SELECT bytes FROM profile JOIN body USING (seq) WHERE id = ?1");
  out.put_profile = make(
      "INSERT INTO profile(id, stored_at, pinned_until, summary) VALUES (?1, ?2, ?3, ?4)"
      " ON CONFLICT(id) DO UPDATE SET stored_at = ?2, pinned_until = ?3, summary = ?4"
      " RETURNING seq");
  out.put_document = make("INSERT OR REPLACE INTO document VALUES (?1, ?2)");
  out.put_body = make("INSERT OR REPLACE INTO body VALUES (?1, ?2)");
  out.erase = make("DELETE FROM profile WHERE id = ?1");
  out.erase_leftovers = make(
      "DELETE FROM profile WHERE seq IN (SELECT seq FROM profile WHERE stored_at <= ?1"
      " AND pinned_until <= ?2 ORDER BY seq LIMIT ?3) RETURNING seq");
  out.revoke = make("INSERT OR REPLACE INTO revoked VALUES (?1, ?2)");
  out.forget_revoked = make("DELETE FROM revoked WHERE until <= ?1");
  out.revoked = make("SELECT jti, until FROM revoked WHERE until > ?1");
  out.probe = make("INSERT OR REPLACE INTO probe VALUES (1)");
  if (error) return proxy::fail(std::move(*error));
  return out;
}

bool SqliteSession::isAt(const std::string& path) const {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

proxy::Result<std::unique_ptr<SqliteSession>> SqliteSession::create(const std::string& path) {
  auto database = SqliteDatabase::create(path);
  if (!database) return proxy::fail(std::move(database.error()));
  auto session = std::make_unique<SqliteSession>();
  session->database = std::move(*database);
  auto ready = session->database->execute(kPragmas);
  if (ready) ready = checkedSchema(*session->database);
  auto statements = ready ? SqliteStatements::prepare(*session->database)
                          : proxy::Result<SqliteStatements>(proxy::fail(std::move(ready.error())));
  if (!statements) {
    if (session->database->damaged()) statements.error().code = ErrorCode::Malformed;
    return proxy::fail(std::move(statements.error()));
  }
  session->sql = std::move(*statements);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    session->device = status.st_dev;
    session->inode = status.st_ino;
  }
  return session;
}

}  // namespace flamegate::control
