// The process's own log: one line per event on stderr, for the operator. Access logs are elsewhere.
#pragma once

#include <string_view>

namespace flamegate::proxy {

enum class LogLevel : unsigned char { Debug, Info, Warning, Error };

// Lines below the level are dropped. Default: Info. Thread: any.
void setLogLevel(LogLevel level);

// Writes "TIME LEVEL area: message" with one write call; control bytes are escaped.
// Thread: any. Not for the request path.
void logLine(LogLevel level, std::string_view area, std::string_view message);

inline void logInfo(std::string_view area, std::string_view message) {
  logLine(LogLevel::Info, area, message);
}
inline void logWarning(std::string_view area, std::string_view message) {
  logLine(LogLevel::Warning, area, message);
}
inline void logError(std::string_view area, std::string_view message) {
  logLine(LogLevel::Error, area, message);
}

}  // namespace flamegate::proxy
