#include "proxy/net/proxy_protocol.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <arpa/inet.h>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

using namespace std::string_view_literals;
using State = ProxyHeaderParse::State;
using Origin = ProxyHeader::Origin;

constexpr std::string_view kBegin1 = "PROXY "sv;
constexpr size_t kLineBytesMax = 107;
constexpr std::string_view kSignature2 = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr size_t kFixedBytes2 = 16;

ProxyHeaderParse malformed() { return {State::Malformed, {}}; }

ProxyHeaderParse complete(Origin origin, size_t bytes, Address client = {}) {
  return {State::Complete, {origin, client, bytes}};
}

// Whether `bytes` is, or may become, a text that begins with `wanted`.
bool maybeBeginsWith(std::string_view bytes, std::string_view wanted) {
  const size_t count = std::min(bytes.size(), wanted.size());
  return bytes.substr(0, count) == wanted.substr(0, count);
}

Address addressOf(const sockaddr_in& address) {
  return Address::fromSockaddr(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

Address addressOf(const sockaddr_in6& address) {
  return Address::fromSockaddr(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// ---- Version 1 ----------------------------------------------------------------------------------

// The text up to the next blank, which is taken away with it.
std::string_view takeWord(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<uint16_t> parsePort(std::string_view text) {
  const auto port = parseDecimal(text);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (!port || padded || *port > UINT16_MAX) return std::nullopt;
  return static_cast<uint16_t>(*port);
}

bool parseIp(int family, std::string_view text, void* into) {
  char copy[INET6_ADDRSTRLEN] = "";
  if (text.size() >= sizeof copy) return false;
  text.copy(copy, text.size());
  return inet_pton(family, copy, into) == 1;
}

std::optional<Address> parseAddress(int family, std::string_view text, uint16_t port) {
  if (family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (!parseIp(AF_INET, text, &address.sin_addr)) return std::nullopt;
    return addressOf(address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (!parseIp(AF_INET6, text, &address.sin6_addr)) return std::nullopt;
  return addressOf(address);
}

// "TCP4 CLIENT US PORT PORT", "TCP6 …", or "UNKNOWN" and whatever follows.
ProxyHeaderParse parseLine(std::string_view line, size_t bytes) {
  const size_t blanks = static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
  const std::string_view protocol = takeWord(line);
  if (protocol == "UNKNOWN") return complete(Origin::Unnamed, bytes);
  if ((protocol != "TCP4" && protocol != "TCP6") || blanks != 4) return malformed();
  const int family = protocol == "TCP4" ? AF_INET : AF_INET6;
  const std::string_view client = takeWord(line);
  const std::string_view us = takeWord(line);
  const auto client_port = parsePort(takeWord(line));
  const auto our_port = parsePort(takeWord(line));
  if (!client_port || !our_port || !parseAddress(family, us, *our_port)) return malformed();
  const auto address = parseAddress(family, client, *client_port);
  return address ? complete(Origin::Client, bytes, *address) : malformed();
}

ProxyHeaderParse parseVersion1(std::string_view bytes) {
  const std::string_view room = bytes.substr(0, kLineBytesMax);
  const size_t end = room.find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() < kLineBytesMax ? ProxyHeaderParse{} : malformed();
  }
  if (room[end - 1] != '\r' || end - 1 < kBegin1.size()) return malformed();
  return parseLine(room.substr(kBegin1.size(), end - 1 - kBegin1.size()), end + 1);
}

// ---- Version 2 ----------------------------------------------------------------------------------

uint8_t byteAt(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

size_t lengthAt(std::string_view bytes, size_t at) {
  return static_cast<size_t>(byteAt(bytes, at) << 8 | byteAt(bytes, at + 1));
}

// Type, length in two bytes, value; one after the other, to the end.
bool areVectors(std::string_view rest) {
  constexpr size_t kVectorHead = 3;
  while (!rest.empty()) {
    if (rest.size() < kVectorHead || rest.size() - kVectorHead < lengthAt(rest, 1)) return false;
    rest.remove_prefix(kVectorHead + lengthAt(rest, 1));
  }
  return true;
}

// Both addresses, ours and the client's, of a family; zero: not known.
size_t addressBytes(unsigned family) {
  switch (family) {
    case 1:
      return 2 * (4 + 2);
    case 2:
      return 2 * (16 + 2);
    case 3:
      return 2 * 108;
    default:
      return 0;
  }
}

Address takeV4(std::string_view addresses) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_addr, addresses.data(), 4);
  std::memcpy(&address.sin_port, addresses.data() + 8, 2);
  return addressOf(address);
}

Address takeV6(std::string_view addresses) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  std::memcpy(&address.sin6_addr, addresses.data(), 16);
  std::memcpy(&address.sin6_port, addresses.data() + 32, 2);
  return addressOf(address);
}

ProxyHeaderParse parseVersion2(std::string_view bytes) {
  constexpr unsigned kLocal = 0x20, kProxy = 0x21;
  constexpr unsigned kTcp4 = 0x11, kTcp6 = 0x21;
  if (bytes.size() > kSignature2.size()) {
    const unsigned command = byteAt(bytes, 12);
    if (command != kLocal && command != kProxy) return malformed();
  }
  if (bytes.size() < kFixedBytes2) return {};
  const size_t length = lengthAt(bytes, 14);
  const size_t whole = kFixedBytes2 + length;
  if (whole > kProxyHeaderBytesMax) return malformed();
  const unsigned kind = byteAt(bytes, 13);
  const bool is_proxy = byteAt(bytes, 12) == kProxy;
  if (is_proxy && (kind >> 4 > 3 || (kind & 0xf) > 2 || length < addressBytes(kind >> 4))) {
    return malformed();
  }
  if (bytes.size() < whole) return {};
  if (!is_proxy) return complete(Origin::Proxy, whole);
  const std::string_view content = bytes.substr(kFixedBytes2, length);
  if (!areVectors(content.substr(addressBytes(kind >> 4)))) return malformed();
  if (kind == kTcp4) return complete(Origin::Client, whole, takeV4(content));
  if (kind == kTcp6) return complete(Origin::Client, whole, takeV6(content));
  return complete(Origin::Unnamed, whole);
}

}  // namespace

ProxyHeaderParse parseProxyHeader(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (maybeBeginsWith(bytes, kSignature2)) return parseVersion2(bytes);
  if (!maybeBeginsWith(bytes, kBegin1)) return malformed();
  return parseVersion1(bytes);
}

}  // namespace flamegate::proxy
