// One SQLite database file and its prepared statements, as values and Results. The only code that
// sees SQLite's header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace flamegate::control {

// A prepared statement. Bound views must live until the next reset(). Numbering: parameters from 1,
// columns from 0. Owner: whoever prepared it, within the life of its database. Thread: one.
class SqliteStatement {
 public:
  SqliteStatement() = default;  // to be assigned before use

  void bind(int parameter, int64_t value);
  void bind(int parameter, std::string_view text);
  void bindBlob(int parameter, std::string_view bytes);

  // True: there is a row. After the last row and after an error the statement is reset.
  proxy::Result<bool> step();
  // For statements whose rows do not matter.
  proxy::Result<> run();
  // Ends the statement and lets go of what was bound.
  void reset();

  int64_t integer(int column) const;
  // Valid until the next step or reset.
  std::string_view bytes(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(sqlite3_stmt* statement, class SqliteDatabase* database)
      : statement_(statement), database_(database) {}

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  SqliteDatabase* database_ = nullptr;
};

// Errors: Full (disk or memory), Unavailable (cannot be opened, read-only, held by another program,
// damaged), Io. Owner: the SQLite
// medium. Thread: one. Ends: after its statements.
class SqliteDatabase {
 public:
  // Opens or creates the file, readable by its owner only.
  static proxy::Result<std::unique_ptr<SqliteDatabase>> create(const std::string& path);

  // One or more statements without parameters.
  proxy::Result<> execute(const char* sql);
  proxy::Result<SqliteStatement> prepare(const char* sql);
  // The first column of the first row, for PRAGMA and count; 0 when there is no row.
  proxy::Result<int64_t> number(const char* sql);

  bool inTransaction() const;
  // Whether a call ever found the file to be no database, or a broken one.
  bool damaged() const { return damaged_; }

 private:
  friend class SqliteStatement;
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  SqliteDatabase(sqlite3* database, std::string path)
      : database_(database), path_(std::move(path)) {}
  proxy::Error error(int code);

  std::unique_ptr<sqlite3, Closer> database_;
  const std::string path_;
  bool damaged_ = false;
};

}  // namespace flamegate::control
