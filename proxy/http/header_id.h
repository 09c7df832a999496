// Small integers for the field names that flamegate itself reads, so that each name is compared
// once, when it is parsed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace flamegate::proxy {

enum class HeaderId : uint8_t {
  Other,
  // Connection-level (RFC 9110 §7.6.1)
  Connection,
  KeepAlive,
  ProxyConnection,
  Te,
  Trailer,
  TransferEncoding,
  Upgrade,
  Http2Settings,
  // Framing and routing
  ContentLength,
  Host,
  Expect,
  MaxForwards,
  // Client identity
  Forwarded,
  Via,
  XForwardedFor,
  XForwardedHost,
  XForwardedProto,
  XForwardedPort,
  XRealIp,
  // Request fields that triggers, access rules and logs read
  Accept,
  AcceptEncoding,
  AccessControlRequestMethod,
  Authorization,
  Cookie,
  FragmentRequest,  // of scripts that replace a part of a page: HX-Request, Turbo-Frame, X-PJAX …
  Origin,
  Referer,
  SecFetchDest,
  SecFetchMode,
  SecFetchSite,
  UserAgent,
  XRackMiniProfiler,
  XRequestedWith,
  // Any name that begins with `flamegate-` once `_` is read as `-` (agent protocol 1, rule 1)
  FlamegatePrivate,
  // Response fields that the profile headers and the badge touch
  AcceptRanges,
  AccessControlAllowOrigin,
  AccessControlExposeHeaders,
  CacheControl,
  CdnCacheControl,
  BodyDigest,  // Content-Digest and Repr-Digest (RFC 9530), Digest (RFC 3230)
  ContentDisposition,
  ContentEncoding,
  ContentSecurityPolicy,
  ContentType,
  Date,
  Etag,
  Expires,
  LastModified,
  Location,
  Pragma,
  SetCookie,
  Signature,
  SurrogateControl,
  Vary,
  XMiniProfilerFlamegraphPath,
  XMiniProfilerIds,
  Count,
};

// Some of the ids.
class HeaderIdSet {
 public:
  constexpr HeaderIdSet() = default;
  constexpr HeaderIdSet(std::initializer_list<HeaderId> ids) {
    for (HeaderId id : ids) add(id);
  }

  constexpr void add(HeaderId id) { bits_ |= bit(id); }
  constexpr bool has(HeaderId id) const { return (bits_ & bit(id)) != 0; }
  constexpr bool hasAny(HeaderIdSet of) const { return (bits_ & of.bits_) != 0; }

 private:
  static constexpr uint64_t bit(HeaderId id) { return uint64_t{1} << static_cast<unsigned>(id); }

  static_assert(static_cast<unsigned>(HeaderId::Count) <= 64);
  uint64_t bits_ = 0;
};

// The id of a field name, compared without case. Bounded by the longest known name.
HeaderId findHeaderId(std::string_view name);

}  // namespace flamegate::proxy
