#include "control/store/sqlite_database.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sqlite3.h>

#include "proxy/base/check.h"
#include "proxy/base/fd.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Retry;

// SQLite takes a null pointer for NULL, also where the size is 0.
const char* dataOf(std::string_view bytes) { return bytes.data() ? bytes.data() : ""; }

// How long another program (a backup, the sqlite3 shell) may hold the file.
constexpr int kBusyMillis = 2000;

ErrorCode errorCodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ErrorCode::Full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::Unavailable;
    default:
      return ErrorCode::Io;
  }
}

}  // namespace

void SqliteStatement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::bind(int parameter, int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void SqliteStatement::bind(int parameter, std::string_view text) {
  CHECK(sqlite3_bind_text64(statement_.get(), parameter, dataOf(text), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8) == SQLITE_OK);
}

void SqliteStatement::bindBlob(int parameter, std::string_view bytes) {
  CHECK(sqlite3_bind_blob64(statement_.get(), parameter, dataOf(bytes), bytes.size(),
                            SQLITE_STATIC) == SQLITE_OK);
}

proxy::Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  proxy::Error error = database_->error(code);
  reset();
  return proxy::fail(std::move(error));
}

proxy::Result<> SqliteStatement::run() {
  for (;;) {
    auto row = step();
    if (!row) return proxy::fail(std::move(row.error()));
    if (!*row) return {};
  }
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data ? std::string_view(data, static_cast<size_t>(size)) : std::string_view();
}

void SqliteDatabase::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

proxy::Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::create(const std::string& path) {
  // SQLite's own files inherit the mode; its default would let everybody read the profiles.
  const proxy::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return proxy::fail(errno == ENOSPC ? ErrorCode::Full : ErrorCode::Unavailable,
                       ErrorSource::Store, path + ": " + std::strerror(errno), Retry::Yes);
  }
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  CHECK(handle != nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(handle, path));
  if (code != SQLITE_OK) return proxy::fail(database->error(code));
  sqlite3_busy_timeout(handle, kBusyMillis);
  return database;
}

proxy::Error SqliteDatabase::error(int code) {
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) damaged_ = true;
  return {errorCodeOf(code), ErrorSource::Store, Retry::Yes,
          path_ + ": " + sqlite3_errmsg(database_.get())};
}

proxy::Result<> SqliteDatabase::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return proxy::fail(error(code));
  return {};
}

proxy::Result<SqliteStatement> SqliteDatabase::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return proxy::fail(error(code));
  return SqliteStatement(statement, this);
}

proxy::Result<int64_t> SqliteDatabase::number(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return proxy::fail(std::move(statement.error()));
  auto row = statement->step();
  if (!row) return proxy::fail(std::move(row.error()));
  return *row ? statement->integer(0) : 0;
}

bool SqliteDatabase::inTransaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

}  // namespace flamegate::control
