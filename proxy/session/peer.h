// Who is at the other end of a client connection, from its socket address.
#pragma once

#include "proxy/net/address.h"
#include "proxy/session/stream.h"

namespace flamegate::proxy {

// The longest text of an address, with its NUL.
inline constexpr size_t kPeerTextBytes = 46;

// `text` is the memory of the result's view. An unspecified address is that of somebody unnamed.
Peer peerOf(const Address& address, char (&text)[kPeerTextBytes], size_t listener);

}  // namespace flamegate::proxy
