// Active health checks of one cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/upstream/cluster.h"

namespace flamegate::proxy {

// Asks each endpoint for a path, on a connection of its own each time, and tells the endpoint
// whether it is healthy: after so many successes, or failures, in a row. A status outside the
// expected range, a response head that does not come in time and a connection that fails are
// failures. Probes are no requests of the cluster: they are not counted, limited or profiled.
// Owner: a cluster's keeper. Thread: the main loop's.
class HealthProber {
 public:
  struct Options {
    std::string path;
    Duration interval = std::chrono::seconds(5);  // from the end of one probe to the next
    Duration timeout = std::chrono::seconds(2);
    uint32_t healthy = 2;
    uint32_t unhealthy = 3;
    uint16_t status_first = 200;
    uint16_t status_last = 399;
  };

  HealthProber(ClientSessionContext& context, Cluster& cluster, Options options);
  HealthProber(const HealthProber&) = delete;
  HealthProber& operator=(const HealthProber&) = delete;
  ~HealthProber();

  // The cluster has other endpoints; probes of those that stay go on.
  void refresh();

 private:
  class Probe;

  ClientSessionContext& context_;
  Cluster& cluster_;
  const Options options_;
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace flamegate::proxy
