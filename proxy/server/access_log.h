// The access log: one line an exchange, gathered by each worker and written in whole lines.
#pragma once

#include <memory>
#include <string_view>

#include "config/schema/config.h"
#include "proxy/base/fd.h"
#include "proxy/exchange/exchange.h"
#include "proxy/server/log_line.h"

namespace flamegate::proxy {

// Appends one exchange as a JSON object or as a text line. `unix_ms`: when it ended.
void appendAccessLine(const Exchange& exchange, config::AccessLog::Format format, int64_t unix_ms,
                      LogLines& out);
// A request that the session refused before it had a head.
void appendRefusedLine(const Peer& peer, uint16_t status, std::string_view reason,
                       config::AccessLog::Format format, int64_t unix_ms, LogLines& out);

// The file or stream that workers append to; whole lines by one write each time (O_APPEND).
// Owner: the process. Thread: any.
class AccessLogFile {
 public:
  // Errors: Io, Config. Nothing (null) when logging is off.
  static Result<std::unique_ptr<AccessLogFile>> create(const config::AccessLog& config);

  config::AccessLog::Format format() const { return format_; }
  // False when the bytes could not all be written; they are then lost.
  bool write(std::string_view lines);

 private:
  AccessLogFile() = default;
  UniqueFd fd_;
  config::AccessLog::Format format_ = config::AccessLog::Format::Json;
};

// One worker's part: formats into a buffer that is written at 32 KiB, or once a second.
// Owner: a Worker. Thread: its loop's.
class AccessLogBuffer final : public AccessLogger {
 public:
  AccessLogBuffer(EventLoop& loop, AccessLogFile& file, WorkerCounters& counters);
  ~AccessLogBuffer() { flush(); }

  void log(const Exchange& exchange) override;
  void logRefused(const Peer& peer, uint16_t status, std::string_view reason);
  void flush();

 private:
  void written();

  EventLoop& loop_;
  AccessLogFile& file_;
  WorkerCounters& counters_;
  Timer timer_;
  LogLines lines_;
  size_t count_ = 0;
};

}  // namespace flamegate::proxy
