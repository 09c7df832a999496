#include "proxy/net/connection.h"

#include <sys/socket.h>

namespace flamegate::proxy {

Connection::Connection(EventLoop& loop, UniqueFd fd, ConnectionEvents& events, Readiness ready)
    : loop_(loop), events_(&events), fd_(std::move(fd)), ready_(ready) {}

Connection::Connection(EventLoop& loop, UniqueFd fd, Readiness ready)
    : loop_(loop), events_(nullptr), fd_(std::move(fd)), ready_(ready) {}

Result<> Connection::start() { return loop_.watch(fd_.get(), watch_, &Connection::onEvent, this); }

void Connection::onEvent(void* self, short events) {
  auto* connection = static_cast<Connection*>(self);
  Readiness& ready = connection->ready_;
  if ((events & (EventLoop::kRead | EventLoop::kClosed)) != 0) ready.readable = true;
  if ((events & EventLoop::kWrite) != 0) ready.writable = true;
  if ((events & EventLoop::kClosed) != 0) ready.peer_closed = true;
  connection->events_->onReady();
}

IoResult Connection::read(Buffer& into, size_t room) {
  if (transport_ == nullptr && !ready_.readable) return {};
  const std::span<char> space = into.prepare(room);
  const IoResult result =
      transport_ != nullptr ? transport_->read(space) : readSocket(fd_.get(), space, ready_);
  if (result.state == IoResult::State::Done) into.commit(result.bytes);
  return result;
}

IoResult Connection::write(std::span<const iovec> pieces) {
  if (transport_ != nullptr) return transport_->write(pieces);
  return writeSocket(fd_.get(), pieces, ready_, ending_ ? MSG_MORE : 0);
}

IoResult Connection::write(std::string_view bytes) {
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  return write(std::span(&piece, 1));
}

void Connection::closeWrite() {
  if (transport_ != nullptr) transport_->closeWrite();
  ::shutdown(fd_.get(), SHUT_WR);
}

void Connection::resetOnClose() {
  const linger hard{1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

}  // namespace flamegate::proxy
