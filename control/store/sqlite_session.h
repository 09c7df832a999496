// An open store file: the database, checked to be ours, and every statement that the medium runs.
#pragma once

#include <memory>
#include <string>

#include <sys/types.h>

#include "control/store/sqlite_database.h"

namespace flamegate::control {

struct SqliteStatements {
  SqliteStatement begin, commit, rollback;
  SqliteStatement find_document, find_body;
  SqliteStatement put_profile, put_document, put_body;
  SqliteStatement erase, erase_leftovers;
  SqliteStatement revoke, forget_revoked, revoked;
  SqliteStatement probe;

  static proxy::Result<SqliteStatements> prepare(SqliteDatabase& database);
};

// Owner: SqliteMedium. Thread: the store's. The statements end before their database.
struct SqliteSession {
  std::unique_ptr<SqliteDatabase> database;
  SqliteStatements sql;
  dev_t device = 0;
  ino_t inode = 0;

  // Whether the path still leads to the file that is open; false when somebody removed it.
  bool isAt(const std::string& path) const;

  // Opens the file, or makes it with the present schema. Malformed: damaged or no database.
  // Conflict: another program's, or of another version.
  static proxy::Result<std::unique_ptr<SqliteSession>> create(const std::string& path);
};

}  // namespace flamegate::control
