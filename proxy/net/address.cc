#include "proxy/net/address.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

tl::unexpected<Error> badAddress(std::string_view text) {
  return fail(ErrorCode::Malformed, ErrorSource::Config,
              "not an address: " + std::string(text) + " (host:port, [v6]:port or unix:/path)");
}

tl::unexpected<Error> systemError(std::string what, int error) {
  return fail(ErrorCode::Io, ErrorSource::Internal, what + ": " + std::strerror(error));
}

// Whether a unix-domain socket at this path has nobody behind it.
bool stale(const Address& address) {
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), address.get(), address.size()) != 0 && errno == ECONNREFUSED;
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  Address out;
  if (text.starts_with("unix:")) {
    const std::string_view path = text.substr(5);
    if (path.empty() || path.size() >= sizeof out.storage_.local.sun_path) return badAddress(text);
    out.storage_.local = {};
    out.storage_.local.sun_family = AF_UNIX;
    std::memcpy(out.storage_.local.sun_path, path.data(), path.size());
    out.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return out;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return badAddress(text);
  const auto port = parseDecimal(text.substr(colon + 1));
  if (!port || *port > 65535) return badAddress(text);
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    const std::string inner(host.substr(1, host.size() - 2));
    out.storage_.v6 = {};
    out.storage_.v6.sin6_family = AF_INET6;
    out.storage_.v6.sin6_port = htons(static_cast<uint16_t>(*port));
    out.size_ = sizeof(sockaddr_in6);
    if (inet_pton(AF_INET6, inner.c_str(), &out.storage_.v6.sin6_addr) != 1) return badAddress(text);
    return out;
  }
  out.storage_.v4 = {};
  out.storage_.v4.sin_family = AF_INET;
  out.storage_.v4.sin_port = htons(static_cast<uint16_t>(*port));
  out.size_ = sizeof(sockaddr_in);
  if (inet_pton(AF_INET, std::string(host).c_str(), &out.storage_.v4.sin_addr) != 1) {
    return badAddress(text);
  }
  return out;
}

Address Address::fromSockaddr(const sockaddr* address, socklen_t size) {
  Address out;
  CHECK(size <= sizeof out.storage_);
  std::memcpy(&out.storage_, address, size);
  out.size_ = size;
  return out;
}

Address Address::withPort(uint16_t port) const {
  Address other = *this;
  if (family() == AF_INET) other.storage_.v4.sin_port = htons(port);
  if (family() == AF_INET6) other.storage_.v6.sin6_port = htons(port);
  return other;
}

uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(storage_.v4.sin_port);
  if (family() == AF_INET6) return ntohs(storage_.v6.sin6_port);
  return 0;
}

std::string Address::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) inet_ntop(AF_INET, &storage_.v4.sin_addr, text, sizeof text);
  if (family() == AF_INET6) {
    const in6_addr& v6 = storage_.v6.sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &v6, text, sizeof text);
    }
  }
  return isUnix() ? "unix" : text;
}

std::string Address::toString() const {
  if (isUnix()) return std::string("unix:") + storage_.local.sun_path;
  const std::string name = host();
  const bool bracket = name.find(':') != std::string::npos;
  return (bracket ? "[" + name + "]" : name) + ":" + std::to_string(port());
}

Result<UniqueFd> listenOn(const Address& address, bool shared, int backlog) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const std::string name = address.toString();
  if (!fd.valid()) return systemError("cannot listen on " + name, errno);
  const int on = 1;
  if (address.isUnix()) {
    if (stale(address)) ::unlink(name.c_str() + sizeof "unix:" - 1);
  } else {
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (shared) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (address.family() == AF_INET6) {
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
  }
  if (::bind(fd.get(), address.get(), address.size()) != 0 || ::listen(fd.get(), backlog) != 0) {
    return systemError("cannot listen on " + name, errno);
  }
  return fd;
}

Result<UniqueFd> connectTo(const Address& address) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    return fail(ErrorCode::Full, ErrorSource::Internal, std::string("socket: ") + std::strerror(errno));
  }
  if (!address.isUnix()) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (::connect(fd.get(), address.get(), address.size()) != 0 && errno != EINPROGRESS) {
    return fail(ErrorCode::Reset, ErrorSource::Upstream,
                "connect to " + address.toString() + ": " + std::strerror(errno), Retry::Yes);
  }
  return fd;
}

}  // namespace flamegate::proxy
