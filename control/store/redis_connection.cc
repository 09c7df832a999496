#include "control/store/redis_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "proxy/base/encoding.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Retry;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kDelayMin{100};
constexpr milliseconds kDelayMax{5000};
constexpr milliseconds kDelayAfterRefusal{1000};
// The slowest transfer that is not taken for a dead one.
constexpr size_t kBytesPerMilli = 4096;
constexpr size_t kReceiveBytes = 64 * 1024;
constexpr size_t kReplyBytesMax = 128u << 20;

struct Meaning {
  std::string_view code;
  ErrorCode error;
  std::string_view text;
};

constexpr Meaning kMeanings[] = {
    {"OOM", ErrorCode::Full, "Redis is out of memory (maxmemory)"},
    {"READONLY", ErrorCode::Unavailable, "Redis is a read-only replica"},
    {"LOADING", ErrorCode::Unavailable, "Redis is still loading its data"},
    {"MISCONF", ErrorCode::Unavailable, "Redis cannot save to its disk and refuses writes"},
    {"BUSY", ErrorCode::Unavailable, "Redis is busy with a script"},
    {"MASTERDOWN", ErrorCode::Unavailable, "Redis is a replica without its master"},
    {"NOREPLICAS", ErrorCode::Unavailable, "Redis has too few replicas to accept writes"},
    {"NOAUTH", ErrorCode::Unavailable, "Redis demands a login"},
    {"WRONGPASS", ErrorCode::Unavailable, "Redis refuses the user or the password"},
    {"NOPERM", ErrorCode::Unavailable, "Redis does not permit a command or key to this user"},
    {"CLUSTERDOWN", ErrorCode::Unavailable, "the Redis cluster is down"},
    {"MOVED", ErrorCode::Unavailable, "Redis is a cluster, which is not served"},
};

// The first word, where it is the upper-case code that all of the server's errors begin with.
std::string_view codeOf(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  const bool plain =
      !word.empty() && word.size() <= 20 &&
      std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return plain ? word : "an unknown error";
}

// After these the connection is of no use, or a new one may lead to another server.
bool endsConnection(const RespValue& reply) {
  if (!reply.isError()) return false;
  const std::string_view code = codeOf(reply.text);
  return code == "READONLY" || code == "NOAUTH" || code == "MASTERDOWN";
}

auto unavailable(std::string detail) {
  return proxy::fail(ErrorCode::Unavailable, ErrorSource::Store, std::move(detail), Retry::Yes);
}

uint32_t seed() {
  char bytes[sizeof(uint32_t)];
  proxy::fillRandom(bytes, sizeof bytes);
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

proxy::Error redisError(const RespValue& reply) {
  if (!reply.isError()) {
    return {ErrorCode::Unavailable, ErrorSource::Store, Retry::Yes,
            "Redis gave an answer of the wrong kind"};
  }
  const std::string_view code = codeOf(reply.text);
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code == code) {
      return {meaning.error, ErrorSource::Store, Retry::Yes, std::string(meaning.text)};
    }
  }
  return {ErrorCode::Unavailable, ErrorSource::Store, Retry::Yes,
          "Redis answers " + std::string(code)};
}

RedisConnection::RedisConnection(const config::Redis& config) : config_(config), random_(seed()) {}

std::string RedisConnection::name() const {
  const config::Address& address = config_.address;
  if (address.isUnix()) return "Redis at unix:" + address.path;
  return "Redis at " + address.host + ":" + std::to_string(address.port);
}

proxy::Result<std::vector<RespValue>> RedisConnection::call(const RespCommands& commands,
                                                            Link link) {
  for (bool again = link == Link::Any;; again = false) {
    const bool reused = fd_.valid();
    if (!reused && link == Link::Same) {
      return proxy::fail(ErrorCode::Reset, ErrorSource::Store, name() + " has gone", Retry::Yes);
    }
    if (!reused) {
      if (auto connected = connect(); !connected) return proxy::fail(std::move(connected.error()));
    }
    auto replies = exchange(commands);
    if (replies) {
      if (std::any_of(replies->begin(), replies->end(), endsConnection)) fd_.reset();
      return replies;
    }
    fd_.reset();
    const bool gone = replies.error().code == ErrorCode::Reset;
    if (gone && reused && again) continue;
    if (gone && link == Link::Same) return replies;
    if (gone) replies.error().code = ErrorCode::Unavailable;
    pause(replies.error(), false);
    return replies;
  }
}

// Notes why there is no connection, and for how long none is tried: 50 to 100 % of a delay that
// doubles, so that many processes do not come back at the same moment.
void RedisConnection::pause(proxy::Error error, bool refused) {
  fd_.reset();
  last_error_ = std::move(error);
  delay_ = std::clamp(delay_ * 2, kDelayMin, kDelayMax);
  std::uniform_int_distribution<int64_t> jitter(delay_.count() / 2, delay_.count());
  milliseconds wait(jitter(random_));
  if (refused) wait += kDelayAfterRefusal;
  next_attempt_ = steady_clock::now() + wait;
}

proxy::Result<> RedisConnection::connect() {
  if (last_error_ && steady_clock::now() < next_attempt_) return proxy::fail(*last_error_);
  started_ = steady_clock::now();
  transferred_ = 0;
  auto connected = config_.address.isUnix() ? connectUnix() : connectTcp();
  if (!connected) {
    pause(connected.error(), false);
    return connected;
  }
  reader_.emplace(kReplyBytesMax);
  auto logged_in = login();
  if (!logged_in) {
    pause(logged_in.error(), true);
    return logged_in;
  }
  last_error_.reset();
  delay_ = milliseconds(0);
  return {};
}

proxy::Result<> RedisConnection::connectUnix() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = config_.address.path;
  if (path.size() >= sizeof address.sun_path) return unavailable(name() + ": path too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return connectTo(AF_UNIX, &address, sizeof address);
}

proxy::Result<> RedisConnection::connectTcp() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(config_.address.host.c_str(),
                                  std::to_string(config_.address.port).c_str(), &hints, &found);
  if (failure != 0) return unavailable(name() + ": " + gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  started_ = steady_clock::now();  // the resolver's time is its own
  proxy::Result<> outcome = unavailable(name() + ": no address");
  for (const addrinfo* each = found; each; each = each->ai_next) {
    outcome = connectTo(each->ai_family, each->ai_addr, each->ai_addrlen);
    if (outcome) break;
  }
  return outcome;
}

proxy::Result<> RedisConnection::connectTo(int family, const void* address, unsigned size) {
  fd_.reset(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_.valid()) return unavailable(name() + ": " + std::strerror(errno));
  if (family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  if (::connect(fd_.get(), static_cast<const sockaddr*>(address), size) == 0) return {};
  // A full backlog of a unix socket is EAGAIN; there is nothing to wait for then.
  if (errno != EINPROGRESS) return unavailable(name() + ": " + std::strerror(errno));
  if (auto ready = waitFor(POLLOUT); !ready) return ready;
  int error = 0;
  socklen_t error_size = sizeof error;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error != 0) return unavailable(name() + ": " + std::strerror(error));
  return {};
}

// Nothing else is sent before the server has accepted both.
proxy::Result<> RedisConnection::login() {
  RespCommands commands;
  if (!config_.user.empty()) {
    commands.add({"AUTH", config_.user, config_.password});
  } else if (!config_.password.empty()) {
    commands.add({"AUTH", config_.password});
  }
  if (config_.database != 0) commands.add({"SELECT", std::to_string(config_.database)});
  if (commands.count() == 0) return {};
  auto replies = exchange(commands);
  if (!replies) return proxy::fail(std::move(replies.error()));
  for (const RespValue& reply : *replies) {
    if (!reply.isError()) continue;
    proxy::Error error = redisError(reply);
    error.detail = name() + ": login failed: " + error.detail;
    return proxy::fail(std::move(error));
  }
  return {};
}

proxy::Result<std::vector<RespValue>> RedisConnection::exchange(const RespCommands& commands) {
  started_ = steady_clock::now();
  transferred_ = 0;
  if (auto sent = send(commands.bytes()); !sent) return proxy::fail(std::move(sent.error()));
  std::vector<RespValue> replies;
  replies.reserve(commands.count());
  while (replies.size() < commands.count()) {
    auto reply = reader_->next();
    if (!reply) return proxy::fail(std::move(reply.error()));
    if (*reply) {
      replies.push_back(std::move(**reply));
    } else if (auto received = receive(); !received) {
      return proxy::fail(std::move(received.error()));
    }
  }
  return replies;
}

proxy::Result<> RedisConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      transferred_ += static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      if (auto ready = waitFor(POLLOUT); !ready) return ready;
    } else if (errno != EINTR) {
      return proxy::fail(ErrorCode::Reset, ErrorSource::Store, name() + ": " + std::strerror(errno),
                         Retry::Yes);
    }
  }
  return {};
}

proxy::Result<> RedisConnection::receive() {
  char bytes[kReceiveBytes];
  for (;;) {
    const ssize_t received = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (received > 0) {
      transferred_ += static_cast<size_t>(received);
      return reader_->feed({bytes, static_cast<size_t>(received)});
    }
    if (received == 0) {
      return proxy::fail(ErrorCode::Reset, ErrorSource::Store, name() + " closed the connection",
                         Retry::Yes);
    }
    if (errno == EAGAIN) {
      if (auto ready = waitFor(POLLIN); !ready) return ready;
    } else if (errno != EINTR) {
      return proxy::fail(ErrorCode::Reset, ErrorSource::Store, name() + ": " + std::strerror(errno),
                         Retry::Yes);
    }
  }
}

proxy::Result<> RedisConnection::waitFor(short events) {
  for (;;) {
    const auto allowed = std::chrono::ceil<milliseconds>(config_.timeout) +
                         milliseconds(transferred_ / kBytesPerMilli);
    const auto left =
        std::chrono::ceil<milliseconds>(started_ + allowed - steady_clock::now()).count();
    pollfd poll_fd{fd_.get(), events, 0};
    const int ready = left > 0 ? ::poll(&poll_fd, 1, static_cast<int>(left)) : 0;
    if (ready > 0) return {};
    if (ready == 0) {
      return proxy::fail(ErrorCode::Timeout, ErrorSource::Store, name() + " did not answer in time",
                         Retry::Yes);
    }
    if (errno != EINTR) return unavailable(name() + ": " + std::strerror(errno));
  }
}

}  // namespace flamegate::control
