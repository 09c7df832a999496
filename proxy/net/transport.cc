#include "proxy/net/transport.h"

#include <sys/socket.h>

#include <cerrno>

namespace flamegate::proxy {

IoResult readSocket(int fd, std::span<char> into, Readiness& ready) {
  if (!ready.readable) return {};
  ssize_t got;
  do {
    got = ::recv(fd, into.data(), into.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    // Edge-triggered: new data raise a new edge, so a short read means that the socket is empty. Once
    // the peer has closed no edge will follow, so reading goes on until the end is seen.
    if (static_cast<size_t>(got) < into.size() && !ready.peer_closed) ready.readable = false;
    return {IoResult::State::Done, 0, static_cast<size_t>(got)};
  }
  if (got == 0) {
    ready.peer_closed = true;
    return {IoResult::State::Eof, 0, 0};
  }
  ready.readable = false;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
  return {IoResult::State::Failed, errno, 0};
}

IoResult writeSocket(int fd, std::span<const iovec> pieces, Readiness& ready, int flags) {
  if (!ready.writable) return {};
  size_t wanted = 0;
  for (const iovec& piece : pieces) wanted += piece.iov_len;
  ssize_t sent;
  do {
    if (pieces.size() == 1) {
      sent = ::send(fd, pieces[0].iov_base, pieces[0].iov_len, flags | MSG_NOSIGNAL);
    } else {
      msghdr message{};
      message.msg_iov = const_cast<iovec*>(pieces.data());
      message.msg_iovlen = pieces.size();
      sent = ::sendmsg(fd, &message, flags | MSG_NOSIGNAL);
    }
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) {
    if (static_cast<size_t>(sent) < wanted) ready.writable = false;
    return {IoResult::State::Done, 0, static_cast<size_t>(sent)};
  }
  ready.writable = false;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
  return {IoResult::State::Failed, errno, 0};
}

}  // namespace flamegate::proxy
