#include "proxy/server/service_manager.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

constexpr int kFirstInherited = 3;
constexpr int kInheritedMax = 256;

std::optional<int> numberFrom(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

int socketOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool isListeningStream(int fd) {
  return socketOption(fd, SO_ACCEPTCONN) == 1 && socketOption(fd, SO_TYPE) == SOCK_STREAM;
}

// The state that listenOn() gives to sockets of our own.
void prepare(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  if (socketOption(fd, SO_DOMAIN) != AF_UNIX) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
}

}  // namespace

std::vector<UniqueFd> takeInheritedSockets() {
  const auto process = numberFrom("LISTEN_PID");
  const int count = numberFrom("LISTEN_FDS").value_or(0);
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  std::vector<UniqueFd> sockets;
  if (process != ::getpid() || count < 0 || count > kInheritedMax) return sockets;
  for (int number = kFirstInherited; number < kFirstInherited + count; ++number) {
    UniqueFd fd(number);
    if (isListeningStream(number)) {
      prepare(number);
      sockets.push_back(std::move(fd));
    } else {
      logWarning("process", "inherited descriptor " + std::to_string(number) +
                                " is not a listening stream socket; closed");
    }
  }
  return sockets;
}

void notifyServiceManager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  // "@" stands for the zero byte of an abstract name, whose length counts.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace flamegate::proxy
