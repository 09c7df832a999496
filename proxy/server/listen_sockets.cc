#include "proxy/server/listen_sockets.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/base/log.h"
#include "proxy/server/snapshot_builder.h"

namespace flamegate::proxy {
namespace {

constexpr int kBacklog = 4096;

Address boundAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::fromSockaddr(reinterpret_cast<sockaddr*>(&storage), size);
}

}  // namespace

ListenSockets::ListenSockets(size_t workers, std::vector<UniqueFd> inherited) : workers_(workers) {
  for (UniqueFd& fd : inherited) {
    const Address bound = boundAddress(fd.get());
    Sockets& sockets = open_[bound.toString()];
    sockets.bound = bound;
    sockets.fds.push_back(std::move(fd));
  }
}

Result<> ListenSockets::open(const std::vector<config::Listener>& listeners) {
  std::map<std::string, Sockets> opened;
  for (const config::Listener& listener : listeners) {
    const std::string key = config::formatAddress(listener.address);
    if (open_.contains(key) || opened.contains(key)) continue;
    auto addresses = resolve(listener.address);
    if (!addresses) return fail(std::move(addresses.error()));
    Address address = addresses->front();
    Sockets sockets;
    const size_t count = address.isUnix() ? 1 : workers_;
    for (size_t i = 0; i < count; ++i) {
      auto fd = listenOn(address, true, kBacklog);
      if (!fd) return fail(std::move(fd.error()));
      if (!address.isUnix()) address = boundAddress(fd->get());
      sockets.fds.push_back(std::move(*fd));
    }
    sockets.bound = address;
    opened.emplace(key, std::move(sockets));
  }
  open_.merge(opened);
  return {};
}

void ListenSockets::closeOthers(const std::vector<config::Listener>& listeners) {
  std::erase_if(open_, [&](const auto& entry) {
    const bool needed =
        std::any_of(listeners.begin(), listeners.end(), [&](const config::Listener& listener) {
          return config::formatAddress(listener.address) == entry.first;
        });
    if (!needed) logInfo("proxy", "no longer listening on " + entry.second.bound.toString());
    return !needed;
  });
}

Result<std::vector<UniqueFd>> ListenSockets::duplicate(
    const std::vector<config::Listener>& listeners, size_t worker) const {
  std::vector<UniqueFd> fds;
  for (const config::Listener& listener : listeners) {
    const Sockets& sockets = open_.at(config::formatAddress(listener.address));
    const int original = sockets.fds[worker % sockets.fds.size()].get();
    UniqueFd fd(fcntl(original, F_DUPFD_CLOEXEC, 3));
    if (!fd.valid()) return fail(ErrorCode::Io, ErrorSource::Internal, std::strerror(errno));
    fds.push_back(std::move(fd));
  }
  return fds;
}

std::string ListenSockets::boundTo(const config::Listener& listener) const {
  return open_.at(config::formatAddress(listener.address)).bound.toString();
}

}  // namespace flamegate::proxy
