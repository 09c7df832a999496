// Environment variables in values.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/load/tree.h"

namespace flamegate::config {

// The value of a variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The process's own.
Environment processEnvironment();

// Puts values for `${NAME}` and `${NAME:-default}` (also when NAME is empty) into every value; keys
// stay as they are. `$${` is a literal `${`. What comes from the environment is text: it can not
// add keys or further variables. A value that can not be expanded becomes Faulty.
void expandVariables(Node& root, const Environment& environment, Faults& faults);

}  // namespace flamegate::config
