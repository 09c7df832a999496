// Small integers for the field names that flamegate itself reads, so that each name is compared
// once, when it is parsed.
#pragma once

#include <cstdint>
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
  HxRequest,
  Origin,
  Referer,
  SecFetchDest,
  SecFetchMode,
  SecFetchSite,
  TurboFrame,
  UserAgent,
  XInertia,
  XPjax,
  XRackMiniProfiler,
  XRequestedWith,
  XTurboRequestId,
  XUpVersion,
  // Response fields that the profile headers and the badge touch
  AcceptRanges,
  AccessControlAllowOrigin,
  AccessControlExposeHeaders,
  CacheControl,
  CdnCacheControl,
  ContentDigest,
  ContentDisposition,
  ContentEncoding,
  ContentSecurityPolicy,
  ContentType,
  Date,
  Digest,
  Etag,
  Expires,
  LastModified,
  Location,
  Pragma,
  ReprDigest,
  SetCookie,
  Signature,
  SurrogateControl,
  Vary,
  XMiniProfilerFlamegraphPath,
  XMiniProfilerIds,
  // Any name that begins with `flamegate-` once `_` is read as `-` (agent protocol 1, rule 1)
  FlamegatePrivate,
  Count,
};

// The id of a field name, compared without case. Bounded by the longest known name.
HeaderId findHeaderId(std::string_view name);

}  // namespace flamegate::proxy
