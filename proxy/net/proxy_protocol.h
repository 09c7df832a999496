// The header by which a proxy in front of us tells whom a connection is for: the PROXY protocol of
// haproxy.org, versions 1 and 2.
#pragma once

#include <string_view>

#include "proxy/net/address.h"

namespace flamegate::proxy {

struct ProxyHeader {
  // Whom the connection is for.
  enum class Origin : unsigned char {
    Client,   // somebody whom the proxy names
    Unnamed,  // somebody whom it does not name, or reached it by other means than TCP
    Proxy,    // the proxy itself, as for a health check
  };
  Origin origin = Origin::Unnamed;
  Address client;    // with Client
  size_t bytes = 0;  // that the header takes
};

// Version 1: a line of up to 107 bytes, its end included. Version 2: up to this, with all its TLVs,
// which are looked over and left out.
inline constexpr size_t kProxyHeaderBytesMax = 4096;

struct ProxyHeaderParse {
  enum class State : unsigned char { Complete, Incomplete, Malformed };
  State state = State::Incomplete;
  ProxyHeader header;  // with Complete
};

// Parses the beginning of a connection. Malformed as soon as no further bytes could make it a
// header.
ProxyHeaderParse parseProxyHeader(std::string_view bytes);

}  // namespace flamegate::proxy
