#include "proxy/server/access_log.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kFlushBytes = 32 * 1024;
constexpr Duration kFlushTime = std::chrono::seconds(1);

constexpr LogKey kClient("client");
constexpr LogKey kMethod("method");
constexpr LogKey kHost("host");
constexpr LogKey kPath("path");
constexpr LogKey kProtocol("protocol");
constexpr LogKey kStatus("status");
constexpr LogKey kRequestBytes("request_bytes");
constexpr LogKey kResponseBytes("response_bytes");
constexpr LogKey kDurationUs("duration_us");
constexpr LogKey kQueueUs("queue_us");
constexpr LogKey kConnectUs("connect_us");
constexpr LogKey kFirstByteUs("first_byte_us");
constexpr LogKey kBodyUs("body_us");
constexpr LogKey kRoute("route");
constexpr LogKey kUpstream("upstream");
constexpr LogKey kAttempts("attempts");
constexpr LogKey kReason("reason");
constexpr LogKey kProfile("profile");
constexpr LogKey kUserAgent("user_agent");
constexpr LogKey kReferer("referer");

std::string_view valueOf(const FieldList& fields, HeaderId id) {
  const Field* field = fields.first(id);
  return field == nullptr ? std::string_view() : field->value();
}

// A signed token in a query is a credential: its value never reaches a log.
std::string_view maskToken(std::string_view target, std::string& memory) {
  const size_t at = target.find("fgtoken=");
  if (at == std::string_view::npos) return target;
  const size_t end = std::min(target.find('&', at), target.size());
  memory.assign(target.substr(0, at)).append("fgtoken=***").append(target.substr(end));
  return memory;
}

}  // namespace

void appendAccessLine(const Exchange& exchange, config::AccessLog::Format format, int64_t unix_ms,
                      LogLines& out) {
  const AccessRecord& record = exchange.record();
  const RequestHead& head = exchange.stream().request();
  const Peer& peer = exchange.stream().peer();
  std::string masked_target;
  std::string masked_referer;
  LogLine line(format, unix_ms - (record.ended - record.started).count() / 1'000'000, out);
  line.text(kClient, record.client.empty() ? peer.text : record.client);
  line.text(kMethod, head.method_text);
  line.textIfAny(kHost, head.authority);
  line.text(kPath, maskToken(exchange.originalTarget(), masked_target));
  line.text(kProtocol, head.protocol());
  line.number(kStatus, record.status);
  line.number(kRequestBytes, record.request_bytes);
  line.number(kResponseBytes, record.response_bytes);
  line.span(kDurationUs, record.started, record.ended);
  line.span(kQueueUs, record.started, record.upstream_begun);
  line.span(kConnectUs, record.upstream_begun, record.connected);
  line.span(kFirstByteUs, record.connected, record.first_byte);
  line.span(kBodyUs, record.first_byte, record.ended);
  if (exchange.route() != nullptr) line.textIfAny(kRoute, exchange.route()->name);
  line.textIfAny(kUpstream, record.endpoint);
  if (record.attempts > 1) line.number(kAttempts, record.attempts);
  line.textIfAny(kReason, record.reason);
  line.textIfAny(kProfile, record.profile_id);
  line.textIfAny(kUserAgent, valueOf(head.fields, HeaderId::UserAgent));
  line.textIfAny(kReferer, maskToken(valueOf(head.fields, HeaderId::Referer), masked_referer));
}

void appendRefusedLine(const Peer& peer, uint16_t status, std::string_view reason,
                       config::AccessLog::Format format, int64_t unix_ms, LogLines& out) {
  LogLine line(format, unix_ms, out);
  line.text(kClient, peer.text);
  line.number(kStatus, status);
  line.text(kReason, reason);
}

Result<std::unique_ptr<AccessLogFile>> AccessLogFile::create(const config::AccessLog& config) {
  using Target = config::AccessLog::Target;
  if (config.target == Target::None) return std::unique_ptr<AccessLogFile>();
  std::unique_ptr<AccessLogFile> file(new AccessLogFile());
  file->format_ = config.format;
  if (config.target == Target::File) {
    file->fd_.reset(::open(config.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  } else {
    file->fd_.reset(::fcntl(config.target == Target::Stdout ? STDOUT_FILENO : STDERR_FILENO,
                            F_DUPFD_CLOEXEC, 3));
  }
  if (!file->fd_.valid()) {
    return fail(ErrorCode::Io, ErrorSource::Config,
                "access_log.path " + config.path + ": " + std::strerror(errno));
  }
  return file;
}

bool AccessLogFile::write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(fd_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    lines.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

AccessLogBuffer::AccessLogBuffer(EventLoop& loop, AccessLogFile& file, WorkerCounters& counters)
    : loop_(loop),
      file_(file),
      counters_(counters),
      timer_(
          loop.timers(), [](void* self) { static_cast<AccessLogBuffer*>(self)->flush(); }, this) {}

void AccessLogBuffer::log(const Exchange& exchange) {
  appendAccessLine(exchange, file_.format(), unixMillis(), lines_);
  written();
}

void AccessLogBuffer::logRefused(const Peer& peer, uint16_t status, std::string_view reason) {
  appendRefusedLine(peer, status, reason, file_.format(), unixMillis(), lines_);
  written();
}

void AccessLogBuffer::written() {
  ++count_;
  if (lines_.size() >= kFlushBytes) {
    flush();
  } else if (!timer_.armed()) {
    timer_.arm(loop_.now() + kFlushTime);
  }
}

void AccessLogBuffer::flush() {
  timer_.disarm();
  if (lines_.empty()) return;
  if (!file_.write(lines_.view())) counters_.log_lines_dropped.add(count_);
  lines_.clear();
  count_ = 0;
}

}  // namespace flamegate::proxy
