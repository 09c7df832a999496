#include "proxy/base/log.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

namespace flamegate::proxy {
namespace {

std::atomic<LogLevel> g_level{LogLevel::Info};

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};

void appendEscaped(std::string& out, std::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out.push_back(c);
      continue;
    }
    char hex[5];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(byte));
    out += hex;
  }
}

}  // namespace

void setLogLevel(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }

void logLine(LogLevel level, std::string_view area, std::string_view message) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char stamp[40];
  const int size =
      std::snprintf(stamp, sizeof stamp, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ ",
                    utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                    utc.tm_sec, now.tv_nsec / 1'000'000);
  std::string line(stamp, static_cast<size_t>(size));
  line.append(kNames[static_cast<size_t>(level)]).append(" ").append(area).append(": ");
  appendEscaped(line, message);
  line.push_back('\n');
  // A log that cannot be written has nowhere to complain to.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace flamegate::proxy
