// The small values that configuration is made of (addresses, networks, durations, sizes) and the
// pure functions between them and their text.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flamegate::config {

// Every configured time; the finest unit that can be written is the microsecond.
using Duration = std::chrono::microseconds;

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// The longest duration that can be written: 366 days.
inline constexpr Duration kDurationMax = std::chrono::hours(24 * 366);
// The largest size that can be written: 1 PiB.
inline constexpr uint64_t kSizeMax = kGiB * 1024 * 1024;
// Longest path of a unix socket: sockaddr_un less its final zero.
inline constexpr size_t kUnixPathBytesMax = 107;

// Where something listens or is reached: host and port, or the path of a unix socket.
struct Address {
  enum class Kind : unsigned char { Tcp, Unix };

  Kind kind = Kind::Tcp;
  std::string host;   // Tcp: an IPv4 or IPv6 literal without brackets, or a name
  uint16_t port = 0;  // Tcp: 0 lets the system choose, for listeners only
  std::string path;   // Unix: absolute

  static Address tcp(std::string host, uint16_t port) {
    return {Kind::Tcp, std::move(host), port, {}};
  }
  static Address unixSocket(std::string path) { return {Kind::Unix, {}, 0, std::move(path)}; }

  bool isUnix() const { return kind == Kind::Unix; }
  bool operator==(const Address&) const = default;
};

// An IPv6 address in network order; IPv4 addresses are kept as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2).
using IpBytes = std::array<uint8_t, 16>;

// A network of IPv4 or IPv6 addresses.
struct Cidr {
  IpBytes network{};        // the bits after the prefix are zero
  uint8_t prefix_bits = 0;  // of the 128: an IPv4 network has at least 96

  // An IPv6 network holds no IPv4 address, not even ::/0.
  bool contains(const IpBytes& address) const;
  bool isV4() const;
  bool operator==(const Cidr&) const = default;
};

// "127.0.0.1" or "::1", without brackets and scope. An IPv4-mapped IPv6 address is its IPv4
// address.
std::optional<IpBytes> parseIp(std::string_view text);

// An address alone is the network of that one address. Bits set after the prefix are an error, as
// they tell of a typing mistake.
std::optional<Cidr> parseCidr(std::string_view text);

// `host:port`, `[v6]:port` or `unix:/path`. A host is an IP literal or a DNS name (RFC 1123 §2.1).
std::optional<Address> parseAddress(std::string_view text);

// Whether the text is a DNS name: labels of letters, digits, `-` and `_`, up to 253 bytes in all.
bool isHostName(std::string_view text);

// An integer and a unit: us, ms, s, m, h; 0 needs no unit. Up to kDurationMax.
std::optional<Duration> parseDuration(std::string_view text);

// An integer and a unit: B, KiB, MiB, GiB; 0 needs no unit. Up to kSizeMax.
std::optional<uint64_t> parseSize(std::string_view text);

// Digits only, at most `max`.
std::optional<uint64_t> parseInteger(std::string_view text, uint64_t max);

// The shortest text that parses to the same value.
std::string formatDuration(Duration value);
std::string formatSize(uint64_t bytes);
std::string formatAddress(const Address& address);
std::string formatCidr(const Cidr& cidr);

}  // namespace flamegate::config
