#include "config/schema/scalars.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <arpa/inet.h>

namespace flamegate::config {
namespace {

constexpr size_t kHostNameBytesMax = 253;  // RFC 1035 §2.3.4
constexpr size_t kLabelBytesMax = 63;
constexpr IpBytes kMappedV4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr uint8_t kMappedV4Bits = 96;

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Largest first, so that formatting takes the first that divides.
constexpr Unit kDurationUnits[] = {
    {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}};
constexpr Unit kSizeUnits[] = {{"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}, {"B", 1}};

template <size_t N>
std::optional<uint64_t> parseWithUnit(std::string_view text, const Unit (&units)[N], uint64_t max) {
  if (text == "0") return 0;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parseInteger(text.substr(0, digits), max);
  if (!count) return std::nullopt;
  for (const Unit& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    return *count <= max / unit.factor ? std::optional(*count * unit.factor) : std::nullopt;
  }
  return std::nullopt;
}

template <size_t N>
std::string formatWithUnit(uint64_t value, const Unit (&units)[N]) {
  if (value == 0) return "0";
  const Unit* unit = std::find_if(std::begin(units), std::end(units),
                                  [value](const Unit& u) { return value % u.factor == 0; });
  return std::to_string(value / unit->factor).append(unit->name);
}

bool isLabel(std::string_view label) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), allowed);
}

std::optional<Address> parseUnixPath(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.size() > kUnixPathBytesMax) {
    return std::nullopt;
  }
  if (path.find('\0') != std::string_view::npos) return std::nullopt;
  return Address::unixSocket(std::string(path));
}

// Clears every bit behind the first `bits`.
IpBytes masked(IpBytes address, uint8_t bits) {
  for (size_t i = 0; i < address.size(); ++i) {
    const int kept = std::clamp(static_cast<int>(bits) - static_cast<int>(i) * 8, 0, 8);
    address[i] = static_cast<uint8_t>(address[i] & (0xff00 >> kept));
  }
  return address;
}

bool isMappedV4(const IpBytes& address) { return masked(address, kMappedV4Bits) == kMappedV4; }

std::string formatIp(const IpBytes& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (isMappedV4(address)) {
    inet_ntop(AF_INET, address.data() + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.data(), text, sizeof text);
  }
  return text;
}

}  // namespace

bool Cidr::contains(const IpBytes& address) const {
  return isMappedV4(address) == isV4() && masked(address, prefix_bits) == network;
}

bool Cidr::isV4() const { return prefix_bits >= kMappedV4Bits && isMappedV4(network); }

std::optional<uint64_t> parseInteger(std::string_view text, uint64_t max) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stopped != end || value > max) return std::nullopt;
  return value;
}

std::optional<Duration> parseDuration(std::string_view text) {
  const auto microseconds =
      parseWithUnit(text, kDurationUnits, static_cast<uint64_t>(kDurationMax.count()));
  if (!microseconds) return std::nullopt;
  return Duration(*microseconds);
}

std::optional<uint64_t> parseSize(std::string_view text) {
  return parseWithUnit(text, kSizeUnits, kSizeMax);
}

bool isHostName(std::string_view text) {
  if (text.empty() || text.size() > kHostNameBytesMax) return false;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    if (!isLabel(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

std::optional<IpBytes> parseIp(std::string_view text) {
  if (text.empty() || text.size() >= INET6_ADDRSTRLEN) return std::nullopt;
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  IpBytes address = kMappedV4;
  if (inet_pton(AF_INET, terminated.c_str(), address.data() + 12) == 1) return address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

std::optional<Cidr> parseCidr(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = parseIp(text.substr(0, slash));
  if (!address) return std::nullopt;
  const bool dotted = text.substr(0, slash).find(':') == std::string_view::npos;
  const uint8_t before = dotted ? kMappedV4Bits : 0;
  uint64_t bits = 128 - before;
  if (slash != std::string_view::npos) {
    const auto written = parseInteger(text.substr(slash + 1), bits);
    if (!written) return std::nullopt;
    bits = *written;
  }
  const Cidr cidr{*address, static_cast<uint8_t>(before + bits)};
  if (masked(cidr.network, cidr.prefix_bits) != cidr.network) return std::nullopt;
  return cidr;
}

std::optional<Address> parseAddress(std::string_view text) {
  constexpr std::string_view kUnixPrefix = "unix:";
  if (text.substr(0, kUnixPrefix.size()) == kUnixPrefix) {
    return parseUnixPath(text.substr(kUnixPrefix.size()));
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parseInteger(text.substr(colon + 1), UINT16_MAX);
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos || !parseIp(host)) return std::nullopt;
  } else if (!isHostName(host)) {
    return std::nullopt;
  } else if (host.find_first_not_of("0123456789.") == std::string_view::npos && !parseIp(host)) {
    return std::nullopt;
  }
  return Address::tcp(std::string(host), static_cast<uint16_t>(*port));
}

std::string formatDuration(Duration value) {
  return formatWithUnit(static_cast<uint64_t>(value.count()), kDurationUnits);
}

std::string formatSize(uint64_t bytes) { return formatWithUnit(bytes, kSizeUnits); }

std::string formatAddress(const Address& address) {
  if (address.isUnix()) return "unix:" + address.path;
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::string formatCidr(const Cidr& cidr) {
  const int bits = cidr.prefix_bits - (cidr.isV4() ? kMappedV4Bits : 0);
  return formatIp(cidr.network) + "/" + std::to_string(bits);
}

}  // namespace flamegate::config
