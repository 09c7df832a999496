// From a configuration to a snapshot that can be served.
#pragma once

#include "proxy/exchange/snapshot.h"

namespace flamegate::proxy {

// Compiles routes, loads certificates and resolves the names of endpoints (blocking). A name that
// does not resolve is logged and leaves its cluster without that endpoint. `control` is where requests
// under the prefix go; `tickets` outlive snapshots, so that TLS sessions go on over a reload.
// Errors: Config, with the file or key at fault.
Result<std::shared_ptr<const Snapshot>> buildSnapshot(config::Config config, size_t workers,
                                                      const Address& control,
                                                      std::shared_ptr<TlsTicketKeys> tickets);

// The addresses of a listener or endpoint; several when a name has several.
Result<std::vector<Address>> resolve(const config::Address& address);

}  // namespace flamegate::proxy
