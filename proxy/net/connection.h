// One socket on one loop.
#pragma once

#include <memory>
#include <optional>

#include "proxy/base/buffer.h"
#include "proxy/base/fd.h"
#include "proxy/net/event_loop.h"
#include "proxy/net/transport.h"

namespace flamegate::proxy {

// Told when a connection may be read or written again.
class ConnectionEvents {
 public:
  // Any number of times, after each edge of epoll. Never comes from inside a call to the connection.
  // The connection must not be destroyed here: hand its owner to deleteLater.
  virtual void onReady() = 0;

 protected:
  ~ConnectionEvents() = default;
};

// Reads into buffers and writes from pieces; waits only by edges. Back-pressure is not reading.
// Owner: a session. Thread: its loop's. Ends: with its owner, which closes the descriptor.
class Connection {
 public:
  // `writable`: false for a connect in progress. `readable`: whether to try a read before any event,
  // as on an accepted socket, whose first bytes are mostly there.
  Connection(EventLoop& loop, UniqueFd fd, ConnectionEvents& events, Readiness ready);
  // setEvents() has to come before start().
  Connection(EventLoop& loop, UniqueFd fd, Readiness ready);

  // Lets another object be told from now on, as when a session of another protocol takes over.
  void setEvents(ConnectionEvents& events) { events_ = &events; }

  // Before start(): lets a transport built over `fd()` and `readiness()` carry the bytes.
  void setTransport(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }
  // Begins to wait for events; what is ready already raises one at once. Until then reading and
  // writing work, but nobody tells when they would.
  Result<> start();
  bool started() const { return watch_.active(); }
  // No event comes any more; for an owner that waits for its deferred destruction.
  void stop() { watch_.stop(); }

  // Appends up to the room that `into` has after preparing `room` bytes.
  IoResult read(Buffer& into, size_t room);
  // Writes the pieces in order; may be short.
  IoResult write(std::span<const iovec> pieces);
  IoResult write(std::string_view bytes);

  bool readable() const { return ready_.readable; }
  bool writable() const { return ready_.writable; }
  bool peerClosed() const { return ready_.peer_closed; }

  // What is written from now on is the end: the last segment waits for closeWrite() or the close, which must follow
  // at once, and takes the FIN along. A segment and a wake-up of the peer less for each connection.
  void endWithNextWrite() { ending_ = true; }
  // Ends our direction (FIN, after close_notify with TLS).
  void closeWrite();
  // Makes close() send RST, so that the peer sees the message broken off.
  void resetOnClose();

  int fd() const { return fd_.get(); }
  Readiness& readiness() { return ready_; }
  Transport* transport() { return transport_.get(); }
  const Transport* transport() const { return transport_.get(); }
  bool secure() const { return transport_ != nullptr; }

 private:
  static void onEvent(void* self, short events);

  EventLoop& loop_;
  ConnectionEvents* events_;
  UniqueFd fd_;  // closed after watch_ has gone
  Readiness ready_;
  bool ending_ = false;
  std::unique_ptr<Transport> transport_;
  Watch watch_;
};

}  // namespace flamegate::proxy
