// What carries the bytes of a connection: the socket itself, or TLS over it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace flamegate::proxy {

// What is known of a descriptor between two edges of epoll. Set by events, cleared by a short read or
// write, so that no system call is ever made just to learn that it would block.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool peer_closed = false;  // the peer ended its direction; reading still yields what it sent before
};

struct IoResult {
  enum class State : unsigned char {
    Done,     // `bytes` were moved, at least one
    Blocked,  // nothing now; the next edge will tell
    Eof,      // the peer ended its direction in order
    Failed,   // `error` is an errno value, or 0 with the reason in the transport
  };
  State state = State::Blocked;
  int error = 0;
  size_t bytes = 0;
};

// A layer between a connection and its socket. The plain socket needs none.
// Owner: its Connection. Thread: its loop's.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual IoResult read(std::span<char> into) = 0;
  virtual IoResult write(std::span<const iovec> pieces) = 0;
  // Tells the peer that no more will be written; best effort.
  virtual void closeWrite() = 0;
  // The protocol that the peers agreed on (ALPN); empty before the handshake is over or without one.
  virtual std::string_view protocol() const = 0;
  virtual bool handshakeDone() const = 0;
  // Why the last call failed, for logs.
  virtual std::string failure() const = 0;
};

// Plain socket calls that keep `ready` true to what the kernel said.
IoResult readSocket(int fd, std::span<char> into, Readiness& ready);
IoResult writeSocket(int fd, std::span<const iovec> pieces, Readiness& ready);

}  // namespace flamegate::proxy
