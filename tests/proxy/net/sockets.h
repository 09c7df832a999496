// Sockets for tests: the other end of what is under test, driven by plain system calls.
#pragma once

#include <cerrno>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "proxy/base/fd.h"
#include "proxy/net/address.h"
#include "proxy/net/event_loop.h"

namespace flamegate::proxy {

inline std::unique_ptr<EventLoop> makeLoop() {
  auto loop = EventLoop::create();
  EXPECT_TRUE(loop);
  return std::move(*loop);
}

struct SocketPair {
  UniqueFd ours;
  UniqueFd peer;
};

// Two connected unix-domain stream sockets that never block.
inline SocketPair makeSocketPair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

inline UniqueFd listenAnywhere() {
  auto fd = listenOn(*Address::parse("127.0.0.1:0"), false, 16);
  EXPECT_TRUE(fd);
  return std::move(*fd);
}

inline Address localAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size), 0);
  return Address::fromSockaddr(reinterpret_cast<sockaddr*>(&storage), size);
}

inline void waitFor(int fd, short events) {
  pollfd entry{fd, events, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
}

// Two connected TCP sockets on the loopback that never block.
inline SocketPair makeTcpPair() {
  const UniqueFd listening = listenAnywhere();
  auto ours = connectTo(localAddress(listening.get()));
  EXPECT_TRUE(ours);
  waitFor(listening.get(), POLLIN);
  UniqueFd peer(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(peer.valid());
  waitFor(ours->get(), POLLOUT);
  return {std::move(*ours), std::move(peer)};
}

// Writes what fits; returns how much.
inline size_t sendSome(int fd, std::string_view bytes) {
  const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<size_t>(sent) : 0;
}

// What is there now, at most `bytes_max`; `ended` (may be null) becomes true at the end of input.
inline std::string receiveSome(int fd, size_t bytes_max = 1 << 20, bool* ended = nullptr) {
  std::string out;
  while (out.size() < bytes_max) {
    char block[16384];
    const ssize_t got =
        ::recv(fd, block, std::min(sizeof block, bytes_max - out.size()), MSG_DONTWAIT);
    if (got <= 0) {
      if (ended != nullptr && (got == 0 || errno == ECONNRESET)) *ended = true;
      break;
    }
    out.append(block, static_cast<size_t>(got));
  }
  return out;
}

// Runs the loop, batch by batch, until the condition holds. The loop's tick wakes it up while
// timers wait; else only events do, so the condition must depend on one.
inline void runUntil(EventLoop& loop, const std::function<bool()>& condition) {
  while (!condition()) loop.runOnce(true);
}

// Runs until what is ready now has been dealt with.
inline void settle(EventLoop& loop) {
  for (int i = 0; i < 8; ++i) loop.runOnce(false);
}

}  // namespace flamegate::proxy
