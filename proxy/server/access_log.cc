#include "proxy/server/access_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kFlushBytes = 32 * 1024;
constexpr Duration kFlushTime = std::chrono::seconds(1);
constexpr size_t kTextBytesMax = 2048;  // of one client-made string

// The length of the well-formed UTF-8 sequence at the front (RFC 3629 §4), 0 if there is none.
size_t utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (at(i) & 0xc0) == 0x80; };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = lead == 0xe0 && at(1) < 0xa0;
    const bool surrogate = lead == 0xed && at(1) > 0x9f;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = lead == 0xf0 && at(1) < 0x90;
    const bool beyond = lead == 0xf4 && at(1) > 0x8f;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// The bytes at the front that are written as they are: printable ASCII but for quote and backslash.
size_t plainLength(std::string_view text) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  size_t length = 0;
  while (length < text.size() && plain(text[length])) ++length;
  return length;
}

// Bytes that are not text are written so that they can be recovered.
void appendEscaped(std::string_view text, const char* byte_format, std::string& out) {
  text = text.substr(0, kTextBytesMax);
  for (;;) {
    const size_t plain = plainLength(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const char c = text.front();
    const size_t length = utf8Length(text);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
      text.remove_prefix(1);
    } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, byte_format, static_cast<unsigned char>(c));
      out.append(escaped);
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
}

void appendNumber(uint64_t value, std::string& out) {
  char digits[20];
  out.append(digits, static_cast<size_t>(writeDecimal(digits, value) - digits));
}

void appendTime(int64_t unix_ms, std::string& out) {
  const time_t seconds = unix_ms / 1000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[80];
  const int size = std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                                 utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                                 utc.tm_min, utc.tm_sec, static_cast<int>(unix_ms % 1000));
  out.append(text, static_cast<size_t>(size));
}

// Writes the pairs of one line in either format.
class LineWriter {
 public:
  LineWriter(config::AccessLog::Format format, std::string& out)
      : json_(format == config::AccessLog::Format::Json), out_(out) {
    if (json_) out_.push_back('{');
  }
  ~LineWriter() { out_.append(json_ ? "}\n" : "\n"); }

  void text(std::string_view key, std::string_view value) {
    begin(key);
    out_.push_back('"');
    appendEscaped(value, json_ ? "\\u%04x" : "\\x%02x", out_);
    out_.push_back('"');
  }
  void textIfAny(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void number(std::string_view key, uint64_t value) {
    begin(key);
    appendNumber(value, out_);
  }
  void time(std::string_view key, int64_t unix_ms) {
    begin(key);
    out_.push_back('"');
    appendTime(unix_ms, out_);
    out_.push_back('"');
  }
  // Microseconds between two moments; left out when one was not reached.
  void span(std::string_view key, TimePoint from, TimePoint to) {
    if (!from.set() || !to.set() || to < from) return;
    number(key, static_cast<uint64_t>((to - from).count() / 1000));
  }

 private:
  void begin(std::string_view key) {
    if (!first_) out_.push_back(json_ ? ',' : ' ');
    first_ = false;
    if (json_) {
      out_.append("\"").append(key).append("\":");
    } else {
      out_.append(key).append("=");
    }
  }

  const bool json_;
  bool first_ = true;
  std::string& out_;
};

std::string_view valueOf(const FieldList& fields, HeaderId id) {
  if (!fields.has(id)) return {};
  for (const Field& field : fields) {
    if (field.id() == id) return field.value();
  }
  return {};
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
                      std::string& out) {
  const AccessRecord& record = exchange.record();
  const RequestHead& head = exchange.stream().request();
  const Peer& peer = exchange.stream().peer();
  std::string masked_target;
  std::string masked_referer;
  LineWriter line(format, out);
  line.time("time", unix_ms - (record.ended - record.started).count() / 1'000'000);
  line.text("client", record.client.empty() ? peer.text : record.client);
  line.text("method", head.method_text);
  line.textIfAny("host", head.authority);
  line.text("path", maskToken(exchange.originalTarget(), masked_target));
  line.text("protocol", head.minor_version == 0 ? "HTTP/1.0" : "HTTP/1.1");
  line.number("status", record.status);
  line.number("request_bytes", record.request_bytes);
  line.number("response_bytes", record.response_bytes);
  line.span("duration_us", record.started, record.ended);
  line.span("queue_us", record.started, record.upstream_begun);
  line.span("connect_us", record.upstream_begun, record.connected);
  line.span("first_byte_us", record.connected, record.first_byte);
  line.span("body_us", record.first_byte, record.ended);
  if (exchange.route() != nullptr) line.textIfAny("route", exchange.route()->name);
  line.textIfAny("upstream", record.endpoint);
  if (record.attempts > 1) line.number("attempts", record.attempts);
  line.textIfAny("reason", record.reason);
  line.textIfAny("profile", record.profile_id);
  line.textIfAny("user_agent", valueOf(head.fields, HeaderId::UserAgent));
  line.textIfAny("referer", maskToken(valueOf(head.fields, HeaderId::Referer), masked_referer));
}

void appendRefusedLine(const Peer& peer, uint16_t status, std::string_view reason,
                       config::AccessLog::Format format, int64_t unix_ms, std::string& out) {
  LineWriter line(format, out);
  line.time("time", unix_ms);
  line.text("client", peer.text);
  line.number("status", status);
  line.text("reason", reason);
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
      timer_(loop.timers(), [](void* self) { static_cast<AccessLogBuffer*>(self)->flush(); }, this) {
}

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
  if (!file_.write(lines_)) counters_.log_lines_dropped.add(count_);
  lines_.clear();
  count_ = 0;
}

}  // namespace flamegate::proxy
