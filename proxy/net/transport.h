// What carries the bytes of a connection: the socket itself, or TLS over it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <sys/uio.h>

namespace flamegate::proxy {

// What is known of a descriptor between two edges of epoll. Set by events, cleared by a short read
// or write, so that no system call is ever made just to learn that it would block.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool peer_closed =
      false;  // the peer ended its direction; reading still yields what it sent before
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

// What kind of failure a transport had, beside the errno of its socket.
enum class TransportFault : unsigned char {
  None,
  Lost,       // the connection ended or broke
  Protocol,   // the peers do not understand each other
  Untrusted,  // the peer's certificate could not be verified
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
  // The protocol that the peers agreed on (ALPN); empty before the handshake is over or without
  // one.
  virtual std::string_view protocol() const = 0;
  virtual bool handshakeDone() const = 0;
  // Why the last call failed, for logs.
  virtual std::string failure() const = 0;
  virtual TransportFault fault() const = 0;
  // The DNS names of the peer's certificate, lower case, if it sent one and that was verified. Read
  // from the certificate when first asked for. Valid as long as the transport.
  virtual std::span<const std::string> peerNames() const = 0;
  // A server's side: another certificate than the one that this connection was opened with is there
  // for `host` (without port, any case), so that the request belongs on another connection.
  virtual bool isMisdirected(std::string_view host) const = 0;
};

// Plain socket calls that keep `ready` true to what the kernel said.
IoResult readSocket(int fd, std::span<char> into, Readiness& ready);
// `flags`: of send(2), beside MSG_NOSIGNAL.
IoResult writeSocket(int fd, std::span<const iovec> pieces, Readiness& ready, int flags = 0);

}  // namespace flamegate::proxy
