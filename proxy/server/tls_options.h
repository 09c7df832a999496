// TLS of listeners and clusters, made as the configuration says.
#pragma once

#include <memory>

#include "config/schema/config.h"
#include "proxy/net/tls_files.h"

namespace flamegate::proxy {

// Null: clear text. Both read files. Errors: Io, source Config, with the file's name.
Result<std::unique_ptr<TlsListener>> makeTlsListener(const config::Listener& listener,
                                                     std::shared_ptr<TlsTicketKeys> tickets);
Result<std::shared_ptr<TlsConnector>> makeTlsConnector(const config::Cluster& cluster);

}  // namespace flamegate::proxy
