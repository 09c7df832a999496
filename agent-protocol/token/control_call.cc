#include "agent-protocol/token/control_call.h"

#include <array>

#include "agent-protocol/wire/pairs.h"

namespace flamegate::agent {
namespace {

constexpr size_t kCallBytesMax = 1024;
constexpr size_t kHolderBytesMax = 128;
constexpr size_t kSiteBytesMax = 260;
constexpr int64_t kSkewMsMax = 60'000;

enum Key : size_t { kV, kTs, kAllow, kFor, kSite, kScheme, kSig, kKeyCount };
constexpr std::array<std::string_view, kKeyCount> kKeys = {"v",    "ts",     "allow", "for",
                                                           "site", "scheme", "sig"};
using Values = std::array<std::optional<std::string_view>, kKeyCount>;

// The signed values as the field spells them.
struct Spelling {
  std::string_view ts, allow, holder, site, scheme;
};

std::string callSignature(const Spelling& spelling, std::string_view method,
                          std::string_view target, const SessionKeys& keys) {
  std::string text = "FG1-CTL\n";
  text.append(spelling.ts).append("\n").append(method).append("\n").append(target);
  text.append("\n").append(spelling.allow).append("\n").append(spelling.holder);
  text.append("\n").append(spelling.site).append("\n").append(spelling.scheme);
  return proxy::toBase64Url(proxy::asView(proxy::hmacSha256(proxy::asView(keys.control), text)));
}

std::optional<ControlCall> readCall(const Spelling& spelling) {
  const auto allow = parseRights(spelling.allow);
  auto holder = proxy::fromBase64Url(spelling.holder);
  auto site = proxy::fromBase64Url(spelling.site);
  if (!allow || !holder || !site) return std::nullopt;
  if (spelling.scheme != "http" && spelling.scheme != "https") return std::nullopt;
  return ControlCall{*allow, std::move(*holder), std::move(*site), spelling.scheme == "https"};
}

}  // namespace

std::string signCall(const ControlCall& call, std::string_view method, std::string_view target,
                     int64_t now_ms, const SessionKeys& keys) {
  const std::string ts = std::to_string(now_ms);
  const std::string allow = formatRights(call.allow);
  const std::string holder =
      proxy::toBase64Url(std::string_view(call.holder).substr(0, kHolderBytesMax));
  const std::string site = proxy::toBase64Url(std::string_view(call.site).substr(0, kSiteBytesMax));
  const std::string_view scheme = call.secure ? "https" : "http";
  const std::string signature =
      callSignature({ts, allow, holder, site, scheme}, method, target, keys);
  std::string field = "v=1;ts=";
  field.append(ts).append(";allow=").append(allow).append(";for=").append(holder);
  field.append(";site=").append(site).append(";scheme=").append(scheme);
  field.append(";sig=").append(signature);
  return field;
}

std::optional<ControlCall> verifyCall(std::string_view field, std::string_view method,
                                      std::string_view target, int64_t now_ms,
                                      const SessionKeyRing& ring) {
  Values values;
  if (!splitPairs(field, kKeys, values, kCallBytesMax)) return std::nullopt;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
  }
  const auto ts = parseStrictDecimal(*values[kTs]);
  if (*values[kV] != "1" || !ts) return std::nullopt;
  const int64_t skew = now_ms - static_cast<int64_t>(*ts);
  if (skew > kSkewMsMax || skew < -kSkewMsMax) return std::nullopt;

  const Spelling spelling{*values[kTs], *values[kAllow], *values[kFor], *values[kSite],
                          *values[kScheme]};
  const std::string_view signature = *values[kSig];
  const SessionKeys* keys = ring.findIf([&](const SessionKeys& candidate) {
    return proxy::equalConstantTime(callSignature(spelling, method, target, candidate), signature);
  });
  if (keys == nullptr) return std::nullopt;
  return readCall(spelling);
}

}  // namespace flamegate::agent
