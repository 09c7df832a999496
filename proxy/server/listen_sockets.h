// The listening sockets of the process. They outlive workers' listeners and reloads, so that no
// connection in an accept queue is ever lost to a reload.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "proxy/base/fd.h"
#include "proxy/net/address.h"
#include "proxy/server/worker.h"

namespace flamegate::proxy {

// A listening socket under the address that the configuration gives it.
struct NamedSocket {
  std::string key;
  UniqueFd fd;
};

// Owner: the process. Thread: its main thread.
class ListenSockets {
 public:
  // `inherited` (proxy/server/service_manager.h) count as open already, so a listener whose address
  // is written as theirs is served from them, by all workers alike.
  ListenSockets(size_t workers, std::vector<UniqueFd> inherited);

  // Counts these as open already, too: those of a process that this one replaces.
  void adopt(std::vector<NamedSocket> sockets);
  // Duplicates of all, for a process that replaces this one. Errors: Io (no descriptors left).
  Result<std::vector<NamedSocket>> share() const;

  // Opens what the listeners need and is not open yet; on failure nothing changes. Sockets that are
  // no longer needed are closed by closeOthers().
  Result<> open(const std::vector<config::Listener>& listeners);
  void closeOthers(const std::vector<config::Listener>& listeners);

  // A duplicate of the admin listener's only socket, opened at the first call.
  Result<UniqueFd> openAdmin(const config::Address& address);

  // Duplicates for one worker: at least one a listener. All sockets of a listener are served by the
  // workers together, even when a process of more workers has handed them over.
  Result<std::vector<ListeningFd>> duplicate(const std::vector<config::Listener>& listeners,
                                             size_t worker) const;
  // Where a listener really listens: with the port that the system chose.
  std::string boundTo(const config::Listener& listener) const;

 private:
  struct Sockets {
    // One a worker (SO_REUSEPORT); a unix-domain path and an inherited address have one for all.
    std::vector<UniqueFd> fds;
    Address bound;
  };

  const size_t workers_;
  std::map<std::string, Sockets> open_;  // by configured address
  NamedSocket admin_;
};

}  // namespace flamegate::proxy
