#include "proxy/server/control_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "agent-protocol/token/control_call.h"
#include "proxy/base/log.h"
#include "proxy/http/http1_parser.h"

namespace flamegate::proxy {
namespace {

constexpr Duration kPollWhenUp = std::chrono::seconds(1);
constexpr Duration kPollWhenDown = std::chrono::milliseconds(20);
constexpr int kAnswerTimeoutMs = 5000;
constexpr size_t kBatchBytesMax = 256 * 1024;
constexpr size_t kAnswerBytesMax = 4 * 1024 * 1024;

// The ids of revoked tokens in {"revoked":[{"jti":…},…]}; nothing when the text is something else.
std::optional<std::vector<std::string>> parseRevoked(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("revoked") || !json["revoked"].is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> jtis;
  for (const auto& token : json["revoked"]) {
    if (!token.is_object()) return std::nullopt;
    const auto jti = token.find("jti");
    if (jti == token.end() || !jti->is_string()) return std::nullopt;
    jtis.push_back(jti->get<std::string>());
  }
  return jtis;
}

}  // namespace

ControlLink::ControlLink(ProfilingRuntime& runtime, const Address& control,
                         const agent::SessionKeys& keys)
    : runtime_(runtime), control_(control), keys_(keys), thread_([this] { run(); }) {}

ControlLink::~ControlLink() {
  stopping_.store(true);
  runtime_.sink.wake();
  thread_.join();
}

void ControlLink::setKeys(const agent::SessionKeys& keys) {
  std::lock_guard lock(keys_mutex_);
  keys_ = keys;
}

void ControlLink::run() {
  TimePoint next_poll;
  while (!stopping_.load()) {
    if (monotonicNow() >= next_poll) {
      askRules();
      const bool down = runtime_.control.get() == ControlHealth::State::Down;
      next_poll = monotonicNow() + (down ? kPollWhenDown : kPollWhenUp);
      if (down) {
        // Records wait in the sink until somebody is there to take them.
        const timespec pause{0, kPollWhenDown.count()};
        nanosleep(&pause, nullptr);
        continue;
      }
    }
    std::string lines = runtime_.sink.take(kBatchBytesMax, next_poll - monotonicNow());
    if (!lines.empty() && !sendRecords(lines)) {
      runtime_.sink.putBack(std::move(lines));
      note(ControlHealth::State::Down, "control takes no records");
      next_poll = {};
    }
  }
  const std::string rest = runtime_.sink.take(kBatchBytesMax, Duration::zero());
  if (!rest.empty()) sendRecords(rest);
}

bool ControlLink::sendRecords(const std::string& lines) {
  return call("POST", "/internal/v1/captures", lines).status == 200;
}

void ControlLink::note(ControlHealth::State state, std::string_view why) {
  if (runtime_.control.get() == state) return;
  runtime_.control.set(state);
  if (state == ControlHealth::State::Up) {
    logInfo("control", "is up");
  } else {
    logWarning("control", "no profile can be kept: " + std::string(why));
  }
}

void ControlLink::askRules() {
  const Reply reply = call("GET", "/internal/v1/rules", {});
  switch (reply.status) {
    case 200:
      note(ControlHealth::State::Up, {});
      if (auto revoked = parseRevoked(reply.body)) runtime_.revocations.replace(std::move(*revoked));
      break;
    case 503: note(ControlHealth::State::StoreDown, "the store is away"); break;
    case 507: note(ControlHealth::State::StoreFull, "the store is full"); break;
    default:
      note(ControlHealth::State::Down,
           "control does not answer, status " + std::to_string(reply.status));
  }
}

ControlLink::Reply ControlLink::call(std::string_view method, std::string_view target,
                                     std::string_view body) {
  std::string signature;
  {
    std::lock_guard lock(keys_mutex_);
    signature = agent::signCall({}, method, target, unixMillis(), keys_);
  }
  std::string request;
  request.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: control\r\n");
  request.append(agent::kCallName).append(": ").append(signature).append("\r\n");
  request.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
  request.append(body);
  const bool kept = fd_.valid();
  Reply reply = callOnce(request);
  // A kept connection may have been closed meanwhile; records are idempotent.
  if (reply.status == 0 && kept) reply = callOnce(request);
  return reply;
}

ControlLink::Reply ControlLink::callOnce(const std::string& request) {
  Reply reply;
  if ((fd_.valid() || connect()) && sendAll(request)) reply = receive();
  if (reply.status == 0) fd_.reset();
  return reply;
}

bool ControlLink::connect() {
  fd_.reset(::socket(control_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{kAnswerTimeoutMs / 1000, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  return ::connect(fd_.get(), control_.get(), control_.size()) == 0;
}

bool ControlLink::sendAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

ControlLink::Reply ControlLink::receive() {
  std::string bytes;
  ResponseHead head;
  char block[16 * 1024];
  for (;;) {
    const ParseResult parsed = parseResponseHead(bytes, 0, Method::Get, {}, head);
    if (parsed.state == ParseResult::State::Bad) return {};
    const bool whole = parsed.state == ParseResult::State::Complete;
    if (whole && head.framing != Framing::Length && head.framing != Framing::None) return {};
    if (whole && bytes.size() >= parsed.head_bytes + head.content_length) {
      return {head.status, bytes.substr(parsed.head_bytes, head.content_length)};
    }
    const ssize_t got = ::recv(fd_.get(), block, sizeof block, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || bytes.size() > kAnswerBytesMax) return {};
    bytes.append(block, static_cast<size_t>(got));
  }
}

}  // namespace flamegate::proxy
