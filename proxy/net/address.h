// Socket addresses: host and port, or a unix path.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>

#include "proxy/base/fd.h"
#include "proxy/base/result.h"

namespace flamegate::proxy {

// An IPv4, IPv6 or unix-domain address. A value.
class Address {
 public:
  Address() { storage_.any.sa_family = AF_UNSPEC; }

  // "127.0.0.1:80", "[::1]:80", "unix:/path". Names are not resolved.
  static Result<Address> parse(std::string_view text);
  static Address fromSockaddr(const sockaddr* address, socklen_t size);

  int family() const { return storage_.any.sa_family; }
  bool isUnix() const { return family() == AF_UNIX; }
  const sockaddr* get() const { return &storage_.any; }
  socklen_t size() const { return size_; }
  uint16_t port() const;
  // The same address at another port; a unix-domain one stays as it is.
  Address withPort(uint16_t port) const;

  // The host alone ("127.0.0.1", "::1"; "unix" for a unix-domain peer), and the whole.
  std::string host() const;
  std::string toString() const;

 private:
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un local;
  } storage_;
  socklen_t size_ = sizeof(sockaddr);
};

// A non-blocking listening socket. `shared`: SO_REUSEPORT, one socket a worker. TCP options that
// accepted sockets inherit (no delay) are set here, once. An old unix-domain path that nobody listens
// on is replaced. Errors: Io with the reason of the system.
Result<UniqueFd> listenOn(const Address& address, bool shared, int backlog);

// Begins a non-blocking connect; completion shows as writability. Errors: Reset, Retry::Yes.
Result<UniqueFd> connectTo(const Address& address);

}  // namespace flamegate::proxy
