// Keeps the endpoints of a cluster true to the DNS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/net/resolver.h"
#include "proxy/upstream/cluster.h"

namespace flamegate::proxy {

// One configured endpoint: a fixed address, or a name that is resolved again and again.
struct EndpointSource {
  std::string name = {};       // empty: fixed
  EndpointTarget target = {};  // of a name: without its address, but for the port
  uint16_t port = 0;
};

// Asks for each name when its last answer's TTL is over. A failure, or an answer without an
// address, leaves the last good addresses in force and is asked again soon; a name that never had
// an answer has no endpoint meanwhile. Each change is published to the cluster. Owner: a cluster's
// keeper. Thread: the main loop's.
class EndpointUpdater {
 public:
  struct Options {
    Duration ttl_min = std::chrono::seconds(1);  // also for what has no TTL, as in /etc/hosts
    Duration ttl_max = std::chrono::minutes(5);
  };
  // What is known of a name.
  struct Name {
    std::string name;
    std::vector<Address> addresses;
    TimePoint asked_again;  // when; not set: it is being asked
    std::string failure;    // of the last time; empty: it succeeded
  };

  // Publishes the fixed addresses and what `previous` (may be null) knows of the names, and asks.
  EndpointUpdater(EventLoop& loop, Resolver& resolver, Cluster& cluster,
                  std::vector<EndpointSource> sources, Options options,
                  const EndpointUpdater* previous);
  EndpointUpdater(const EndpointUpdater&) = delete;
  EndpointUpdater& operator=(const EndpointUpdater&) = delete;
  ~EndpointUpdater();

  // Called after each publish().
  void onChange(std::function<void()> changed) { changed_ = std::move(changed); }
  // Blocks until each name has been answered once, or the deadline has come.
  void awaitAnswers(TimePoint deadline);
  // One entry a different name.
  std::vector<Name> names() const;

 private:
  struct Inbox;
  struct Lookup;

  void ask(Lookup& lookup);
  void takeAnswers();
  void take(Lookup& lookup, Result<ResolvedName> answer);
  void publish();
  Lookup& lookupOf(const std::string& name);

  EventLoop& loop_;
  Resolver& resolver_;
  Cluster& cluster_;
  const std::vector<EndpointSource> sources_;
  const Options options_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<std::unique_ptr<Lookup>> lookups_;
  std::function<void()> changed_;
};

}  // namespace flamegate::proxy
