// Who the client is, behind the proxies that are trusted.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "config/schema/scalars.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// Where a request came from, after the walk over trusted proxies.
struct ClientAddress {
  std::optional<config::IpBytes> ip;  // absent: not known, or a unix-domain peer
  bool unix_peer = false;
  bool peer_trusted =
      false;              // the peer itself is a trusted proxy: its fields about the client count
  bool loopback() const;  // the known address is the machine's own
};

// `peer` is the address of the connection (or of a PROXY line), absent for a unix-domain peer.
// Behind a trusted peer X-Forwarded-For is walked from its right end to the first address that is
// not trusted; an entry that is no address ends the walk, and the client is not known.
//
// A peer that relays for others without saying for whom has no known address: one on loopback that
// is not trusted but sends Forwarded, X-Forwarded-For, X-Real-IP or Via (a tunnel, another proxy on
// this machine), and a trusted one that sends these without X-Forwarded-For.
ClientAddress findClientAddress(std::optional<config::IpBytes> peer,
                                std::span<const config::Cidr> trusted_proxies,
                                const FieldList& fields);

// 127.0.0.0/8 and ::1.
bool isLoopback(const config::IpBytes& address);

// One element of X-Forwarded-For: an address, or one with a port ("1.2.3.4:5", "[::1]:5").
std::optional<config::IpBytes> parseForwardedAddress(std::string_view element);

}  // namespace flamegate::proxy
