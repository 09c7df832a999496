// Names to addresses, as /etc/hosts, /etc/resolv.conf and the DNS say, off the event loops.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proxy/base/clock.h"
#include "proxy/net/address.h"

namespace flamegate::proxy {

// IPv4 and IPv6 addresses of a name, with port 0, at least one.
struct ResolvedName {
  std::vector<Address> addresses;
  Duration ttl{};  // the shortest of them; 0: what was found has none, as in /etc/hosts
};

// Asks by UDP, and by TCP where an answer was cut short; servers one after the other, search
// domains as configured. resolv.conf is read again when it changes. Owner: the process. Thread:
// resolve() any; answers come on the resolver's own. Ends: what is still asked is answered with
// Closed by the destructor.
class Resolver {
 public:
  struct Options {
    std::vector<Address> servers;                // empty: those of /etc/resolv.conf
    Duration timeout = std::chrono::seconds(2);  // of one query to one server; then doubled
    int tries = 2;                               // of each server
  };
  // Errors: NotFound (no such name, or none of its addresses), Timeout (no server answered),
  // Refused (a server did, with an error), Malformed (what it sent cannot be read), Closed.
  using Callback = std::function<void(Result<ResolvedName>)>;

  // Errors: Io.
  static Result<std::unique_ptr<Resolver>> create(Options options);
  ~Resolver();

  // `done` comes once, on the resolver's thread, and must be quick.
  void resolve(std::string name, Callback done);

 private:
  class Impl;
  explicit Resolver(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace flamegate::proxy
