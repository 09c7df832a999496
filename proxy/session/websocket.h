// The parts of a WebSocket handshake that HTTP/2 leaves out (RFC 8441 §5), for a peer that speaks
// HTTP/1.1 (RFC 6455 §4).
#pragma once

#include <string_view>

#include "proxy/base/arena.h"

namespace flamegate::proxy {

// A Sec-WebSocket-Key: 16 random bytes in base64.
std::string_view makeWebSocketKey(Arena& arena);
// The Sec-WebSocket-Accept that answers `key`.
std::string_view webSocketAccept(std::string_view key, Arena& arena);

}  // namespace flamegate::proxy
