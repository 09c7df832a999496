#include "proxy/server/listen_sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "proxy/base/log.h"
#include "proxy/server/snapshot_builder.h"

namespace flamegate::proxy {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAdminBacklog = 64;
constexpr std::string_view kAdminKey = "admin ";  // goes before the address when it is handed over

Address boundAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::fromSockaddr(reinterpret_cast<sockaddr*>(&storage), size);
}

Result<UniqueFd> duplicateFd(int original) {
  UniqueFd fd(fcntl(original, F_DUPFD_CLOEXEC, 3));
  if (!fd.valid()) return fail(ErrorCode::Io, ErrorSource::Internal, std::strerror(errno));
  return fd;
}

}  // namespace

ListenSockets::ListenSockets(size_t workers, std::vector<UniqueFd> inherited) : workers_(workers) {
  std::vector<NamedSocket> named;
  for (UniqueFd& fd : inherited) {
    std::string key = boundAddress(fd.get()).toString();
    named.push_back({std::move(key), std::move(fd)});
  }
  adopt(std::move(named));
}

void ListenSockets::adopt(std::vector<NamedSocket> sockets) {
  for (NamedSocket& socket : sockets) {
    if (socket.key.starts_with(kAdminKey)) {
      admin_ = {socket.key.substr(kAdminKey.size()), std::move(socket.fd)};
      continue;
    }
    Sockets& under_key = open_[socket.key];
    under_key.bound = boundAddress(socket.fd.get());
    under_key.fds.push_back(std::move(socket.fd));
  }
}

Result<std::vector<NamedSocket>> ListenSockets::share() const {
  std::vector<NamedSocket> shared;
  for (const auto& [key, sockets] : open_) {
    for (const UniqueFd& fd : sockets.fds) {
      auto copy = duplicateFd(fd.get());
      if (!copy) return fail(std::move(copy.error()));
      shared.push_back({key, std::move(*copy)});
    }
  }
  if (admin_.fd.valid()) {
    auto copy = duplicateFd(admin_.fd.get());
    if (!copy) return fail(std::move(copy.error()));
    shared.push_back({std::string(kAdminKey) + admin_.key, std::move(*copy)});
  }
  return shared;
}

Result<UniqueFd> ListenSockets::openAdmin(const config::Address& address) {
  const std::string key = config::formatAddress(address);
  if (!admin_.fd.valid() || admin_.key != key) {
    auto addresses = resolve(address);
    if (!addresses) return fail(std::move(addresses.error()));
    auto fd = listenOn(addresses->front(), false, kAdminBacklog);
    if (!fd) return fail(std::move(fd.error()));
    admin_ = {key, std::move(*fd)};
  }
  return duplicateFd(admin_.fd.get());
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

Result<std::vector<ListeningFd>> ListenSockets::duplicate(
    const std::vector<config::Listener>& listeners, size_t worker) const {
  std::vector<ListeningFd> duplicates;
  for (size_t listener = 0; listener < listeners.size(); ++listener) {
    const auto& fds = open_.at(config::formatAddress(listeners[listener].address)).fds;
    for (size_t i = worker % fds.size(); i < fds.size(); i += workers_) {
      auto copy = duplicateFd(fds[i].get());
      if (!copy) return fail(std::move(copy.error()));
      duplicates.push_back({listener, std::move(*copy)});
    }
  }
  return duplicates;
}

std::string ListenSockets::boundTo(const config::Listener& listener) const {
  return open_.at(config::formatAddress(listener.address)).bound.toString();
}

}  // namespace flamegate::proxy
