// Saves what can still be read of a damaged store file.
#pragma once

#include <string>

#include "control/store/sqlite_database.h"

namespace flamegate::control {

// Copies the profiles and revoked tokens that can be read at `damaged_path` into `to`, which has
// the present schema; skips what cannot be read, ends after some seconds, and logs the number. A
// failure leaves `to` as it was.
void copyReadable(const std::string& damaged_path, SqliteDatabase& to);

}  // namespace flamegate::control
