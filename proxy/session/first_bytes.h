// Which protocol a client connection speaks.
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/net/connection.h"

namespace flamegate::proxy {

enum class Protocol : uint8_t { Unknown, Http1, Http2 };

// By what TLS agreed on, else by the first bytes (RFC 9113 §3.3). Unknown: more are needed.
// `http2_served`: false makes it HTTP/1 whatever comes.
Protocol protocolOf(Connection& connection, std::string_view first_bytes, bool http2_served);

}  // namespace flamegate::proxy
