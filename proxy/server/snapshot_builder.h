// From a configuration to a snapshot that can be served.
#pragma once

#include "proxy/exchange/snapshot.h"

namespace flamegate::proxy {

// Compiles routes and loads certificates. `upstreams` are the clusters of the configuration in its
// order, and control as the last; `tickets` outlive snapshots, so that TLS sessions go on over a
// reload. Errors: Config, with the file or key at fault.
Result<std::shared_ptr<const Snapshot>> buildSnapshot(
    config::Config config, std::vector<std::shared_ptr<Cluster>> upstreams,
    std::shared_ptr<TlsTicketKeys> tickets);

// The addresses of a listener (blocking); several when a name has several.
Result<std::vector<Address>> resolve(const config::Address& address);

}  // namespace flamegate::proxy
