#include "control/api/http_fetch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "proxy/base/clock.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_parser.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Result;

constexpr size_t kAnswerBytesMax = size_t{512} << 20;
constexpr size_t kReadBytes = 64 * 1024;

// A connected socket with a deadline for all that is done on it.
// Owner: fetch(). Thread: its caller's.
class DeadlineSocket {
 public:
  DeadlineSocket(proxy::UniqueFd fd, proxy::TimePoint deadline)
      : fd_(std::move(fd)), deadline_(deadline) {}

  // Whether the connect that is under way has come to something.
  Result<> finishConnect() {
    if (Result<> ready = wait(POLLOUT); !ready) return ready;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return {};
    return proxy::fail(ErrorCode::Unavailable, ErrorSource::Upstream, std::strerror(error));
  }

  Result<> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else if (errno != EAGAIN && errno != EINTR) {
        return broken();
      } else if (Result<> ready = wait(POLLOUT); !ready) {
        return ready;
      }
    }
    return {};
  }

  // Appends what comes next; false at the end of input.
  Result<bool> read(std::string& into) {
    const size_t size = into.size();
    while (true) {
      into.resize(size + kReadBytes);
      const ssize_t got = recv(fd_.get(), into.data() + size, kReadBytes, 0);
      into.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got >= 0) return got > 0;
      if (errno != EAGAIN && errno != EINTR) return broken();
      if (Result<> ready = wait(POLLIN); !ready) return proxy::fail(std::move(ready.error()));
    }
  }

 private:
  static tl::unexpected<proxy::Error> broken() {
    return proxy::fail(ErrorCode::Closed, ErrorSource::Upstream, std::strerror(errno));
  }

  Result<> wait(short events) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - proxy::monotonicNow());
    pollfd entry{fd_.get(), events, 0};
    const int ready = left.count() > 0 ? poll(&entry, 1, static_cast<int>(left.count())) : 0;
    if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
    return proxy::fail(ErrorCode::Timeout, ErrorSource::Upstream, "no answer in time");
  }

  proxy::UniqueFd fd_;
  const proxy::TimePoint deadline_;
};

std::string requestText(const std::string& target, const std::vector<HeaderLine>& headers) {
  std::string text = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  for (const HeaderLine& line : headers) text.append(line.name + ": " + line.value + "\r\n");
  return text.append("\r\n");
}

tl::unexpected<proxy::Error> malformed() {
  return proxy::fail(ErrorCode::Malformed, ErrorSource::Upstream, "the answer is no HTTP");
}

// Reads until the final head is complete; the input then begins with what follows it. Of the head
// only status and framing may be used afterwards.
Result<> readHead(DeadlineSocket& socket, std::string& input, proxy::ResponseHead& head) {
  while (true) {
    const proxy::ParseResult parsed =
        proxy::parseResponseHead(input, 0, proxy::Method::Get, {}, head);
    if (parsed.state == proxy::ParseResult::State::Bad) return malformed();
    if (parsed.state == proxy::ParseResult::State::Complete) {
      input.erase(0, parsed.head_bytes);
      if (!head.interim()) return {};
      continue;
    }
    Result<bool> more = socket.read(input);
    if (!more) return proxy::fail(std::move(more.error()));
    if (!*more) return malformed();
  }
}

Result<std::string> readBody(DeadlineSocket& socket, std::string& input, proxy::Framing framing,
                             uint64_t content_length) {
  proxy::Http1BodyDecoder decoder;
  decoder.begin(framing, content_length);
  std::string body;
  while (!decoder.done()) {
    const proxy::Http1BodyDecoder::Step step = decoder.look(input);
    if (step.fault != proxy::Http1Fault::None) return malformed();
    const size_t content = step.content_bytes;
    body.append(input, step.framing_bytes, content);
    input.erase(0, step.framing_bytes + content);
    if (content > 0) decoder.take(content);
    if (body.size() > kAnswerBytesMax) {
      return proxy::fail(ErrorCode::TooLarge, ErrorSource::Upstream, "the answer is too large");
    }
    if (content > 0 || step.framing_bytes > 0 || decoder.done()) continue;
    Result<bool> more = socket.read(input);
    if (!more) return proxy::fail(std::move(more.error()));
    if (*more) continue;
    if (framing == proxy::Framing::UntilClose) break;
    return malformed();
  }
  return body;
}

}  // namespace

Result<FetchAnswer> fetch(const proxy::Address& address, const std::string& target,
                          const std::vector<HeaderLine>& headers,
                          std::chrono::milliseconds patience) {
  Result<proxy::UniqueFd> fd = proxy::connectTo(address);
  if (!fd) return proxy::fail(ErrorCode::Unavailable, ErrorSource::Upstream, fd.error().detail);
  DeadlineSocket socket(std::move(*fd), proxy::monotonicNow() + patience);
  if (Result<> connected = socket.finishConnect(); !connected) {
    return proxy::fail(std::move(connected.error()));
  }
  if (Result<> sent = socket.write(requestText(target, headers)); !sent) {
    return proxy::fail(std::move(sent.error()));
  }
  std::string input;
  proxy::ResponseHead head;
  if (Result<> read = readHead(socket, input, head); !read) {
    return proxy::fail(std::move(read.error()));
  }
  Result<std::string> body = readBody(socket, input, head.framing, head.content_length);
  if (!body) return proxy::fail(std::move(body.error()));
  return FetchAnswer{head.status, std::move(*body)};
}

}  // namespace flamegate::control
