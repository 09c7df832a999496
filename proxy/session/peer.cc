#include "proxy/session/peer.h"

#include <cstring>

#include <arpa/inet.h>

namespace flamegate::proxy {

Peer peerOf(const Address& address, char (&text)[kPeerTextBytes], size_t listener) {
  Peer peer;
  peer.listener = listener;
  peer.port = address.port();
  peer.is_unix = address.isUnix();
  peer.named = address.family() != AF_UNSPEC;
  if (address.family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.get());
    peer.ip[10] = peer.ip[11] = 0xff;
    std::memcpy(&peer.ip[12], &v4->sin_addr, 4);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (address.family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.get());
    std::memcpy(peer.ip.data(), &v6->sin6_addr, 16);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
      inet_ntop(AF_INET, &peer.ip[12], text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
  } else {
    std::strcpy(text, peer.named ? "unix" : "unknown");  // RFC 7239 §6.2
  }
  peer.text = text;
  return peer;
}

}  // namespace flamegate::proxy
