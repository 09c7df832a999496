#include "proxy/profiling/client_address.h"

#include <algorithm>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

using config::Cidr;
using config::IpBytes;

bool isTrusted(const IpBytes& address, std::span<const Cidr> trusted) {
  return std::any_of(trusted.begin(), trusted.end(),
                     [&address](const Cidr& cidr) { return cidr.contains(address); });
}

bool relaysForOthers(const FieldList& fields) {
  return fields.has(HeaderId::Forwarded) || fields.has(HeaderId::XForwardedFor) ||
         fields.has(HeaderId::XRealIp) || fields.has(HeaderId::Via);
}

// The address of the first hop, counted from the right end of `list`, that is not trusted. `hop` is
// the last trusted one so far. False when the walk has ended.
bool walkList(std::string_view list, std::span<const Cidr> trusted, std::optional<IpBytes>& hop) {
  while (true) {
    const size_t comma = list.rfind(',');
    const size_t start = comma == std::string_view::npos ? 0 : comma + 1;
    hop = parseForwardedAddress(trimBlanks(list.substr(start)));
    if (!hop || !isTrusted(*hop, trusted)) return false;
    if (comma == std::string_view::npos) return true;
    list = list.substr(0, comma);
  }
}

}  // namespace

bool isLoopback(const IpBytes& address) {
  static const Cidr kV4 = *config::parseCidr("127.0.0.0/8");
  static const Cidr kV6 = *config::parseCidr("::1");
  return kV4.contains(address) || kV6.contains(address);
}

bool ClientAddress::loopback() const { return ip && isLoopback(*ip); }

std::optional<IpBytes> parseForwardedAddress(std::string_view element) {
  if (element.starts_with('[')) {
    const size_t end = element.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = element.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !parseDecimal(rest.substr(1))))
      return std::nullopt;
    return config::parseIp(element.substr(1, end - 1));
  }
  const size_t colon = element.find(':');
  if (colon != std::string_view::npos && colon == element.rfind(':')) {
    if (!parseDecimal(element.substr(colon + 1))) return std::nullopt;
    element = element.substr(0, colon);
  }
  return config::parseIp(element);
}

ClientAddress findClientAddress(std::optional<IpBytes> peer, std::span<const Cidr> trusted_proxies,
                                const FieldList& fields) {
  ClientAddress client;
  if (!peer) {
    client.unix_peer = true;
    return client;
  }
  client.peer_trusted = isTrusted(*peer, trusted_proxies);
  if (!client.peer_trusted) {
    if (!isLoopback(*peer) || !relaysForOthers(fields)) client.ip = peer;
    return client;
  }
  if (!fields.has(HeaderId::XForwardedFor)) {
    if (!relaysForOthers(fields)) client.ip = peer;
    return client;
  }
  client.ip = peer;
  for (size_t i = fields.size(); i-- > 0;) {
    const Field& field = fields[i];
    if (field.id() != HeaderId::XForwardedFor || field.removed()) continue;
    if (!walkList(field.value(), trusted_proxies, client.ip)) break;
  }
  return client;
}

}  // namespace flamegate::proxy
