// The listening sockets of the process. They outlive workers' listeners and reloads, so that no
// connection in an accept queue is ever lost to a reload.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "proxy/base/fd.h"
#include "proxy/net/address.h"

namespace flamegate::proxy {

// Owner: the process. Thread: its main thread.
class ListenSockets {
 public:
  explicit ListenSockets(size_t workers) : workers_(workers) {}

  // Opens what the listeners need and is not open yet; on failure nothing changes. Sockets that are no
  // longer needed are closed by closeOthers().
  Result<> open(const std::vector<config::Listener>& listeners);
  void closeOthers(const std::vector<config::Listener>& listeners);

  // Duplicates for one worker, one a listener, in their order.
  Result<std::vector<UniqueFd>> duplicate(const std::vector<config::Listener>& listeners,
                                          size_t worker) const;
  // Where a listener really listens: with the port that the system chose.
  std::string boundTo(const config::Listener& listener) const;

 private:
  struct Sockets {
    std::vector<UniqueFd> fds;  // one a worker (SO_REUSEPORT); a unix-domain path has one for all
    Address bound;
  };

  const size_t workers_;
  std::map<std::string, Sockets> open_;  // by configured address
};

}  // namespace flamegate::proxy
