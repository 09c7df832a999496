// What a cluster that balances by hash goes by.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/schema/config.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// The key of a request: of the first header or cookie of the configured name, or of the client's
// address. Nothing when the request has none, or the cluster does not balance by hash.
std::optional<uint64_t> affinityKey(const config::Balance& balance, const RequestHead& head,
                                    std::string_view client);

}  // namespace flamegate::proxy
