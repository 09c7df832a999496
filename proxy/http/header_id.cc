#include "proxy/http/header_id.h"

#include <array>
#include <cstring>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

struct KnownName {
  std::string_view name;  // lower case
  HeaderId id;
};

constexpr KnownName kKnownNames[] = {
    {"accept", HeaderId::Accept},
    {"accept-encoding", HeaderId::AcceptEncoding},
    {"accept-ranges", HeaderId::AcceptRanges},
    {"access-control-allow-origin", HeaderId::AccessControlAllowOrigin},
    {"access-control-expose-headers", HeaderId::AccessControlExposeHeaders},
    {"access-control-request-method", HeaderId::AccessControlRequestMethod},
    {"authorization", HeaderId::Authorization},
    {"cache-control", HeaderId::CacheControl},
    {"cdn-cache-control", HeaderId::CdnCacheControl},
    {"connection", HeaderId::Connection},
    {"content-digest", HeaderId::BodyDigest},
    {"content-disposition", HeaderId::ContentDisposition},
    {"content-encoding", HeaderId::ContentEncoding},
    {"content-length", HeaderId::ContentLength},
    {"content-security-policy", HeaderId::ContentSecurityPolicy},
    {"content-type", HeaderId::ContentType},
    {"cookie", HeaderId::Cookie},
    {"date", HeaderId::Date},
    {"digest", HeaderId::BodyDigest},
    {"etag", HeaderId::Etag},
    {"expect", HeaderId::Expect},
    {"expires", HeaderId::Expires},
    {"forwarded", HeaderId::Forwarded},
    {"host", HeaderId::Host},
    {"http2-settings", HeaderId::Http2Settings},
    {"hx-request", HeaderId::FragmentRequest},
    {"keep-alive", HeaderId::KeepAlive},
    {"last-modified", HeaderId::LastModified},
    {"location", HeaderId::Location},
    {"max-forwards", HeaderId::MaxForwards},
    {"origin", HeaderId::Origin},
    {"pragma", HeaderId::Pragma},
    {"proxy-connection", HeaderId::ProxyConnection},
    {"referer", HeaderId::Referer},
    {"repr-digest", HeaderId::BodyDigest},
    {"sec-fetch-dest", HeaderId::SecFetchDest},
    {"sec-fetch-mode", HeaderId::SecFetchMode},
    {"sec-fetch-site", HeaderId::SecFetchSite},
    {"set-cookie", HeaderId::SetCookie},
    {"signature", HeaderId::Signature},
    {"surrogate-control", HeaderId::SurrogateControl},
    {"te", HeaderId::Te},
    {"trailer", HeaderId::Trailer},
    {"transfer-encoding", HeaderId::TransferEncoding},
    {"turbo-frame", HeaderId::FragmentRequest},
    {"upgrade", HeaderId::Upgrade},
    {"user-agent", HeaderId::UserAgent},
    {"vary", HeaderId::Vary},
    {"via", HeaderId::Via},
    {"x-forwarded-for", HeaderId::XForwardedFor},
    {"x-forwarded-host", HeaderId::XForwardedHost},
    {"x-forwarded-port", HeaderId::XForwardedPort},
    {"x-forwarded-proto", HeaderId::XForwardedProto},
    {"x-inertia", HeaderId::FragmentRequest},
    {"x-miniprofiler-flamegraph-path", HeaderId::XMiniProfilerFlamegraphPath},
    {"x-miniprofiler-ids", HeaderId::XMiniProfilerIds},
    {"x-pjax", HeaderId::FragmentRequest},
    {"x-rack-mini-profiler", HeaderId::XRackMiniProfiler},
    {"x-real-ip", HeaderId::XRealIp},
    {"x-requested-with", HeaderId::XRequestedWith},
    {"x-turbo-request-id", HeaderId::FragmentRequest},
    {"x-up-version", HeaderId::FragmentRequest},
};

constexpr size_t kTableSize = 512;
constexpr size_t kNameBytesMax = 32;

constexpr size_t hashName(const char* name, size_t size) {
  const auto lower = [&](size_t at) { return static_cast<unsigned char>(name[at]) | 0x20U; };
  return (size * 37 + lower(0) * 11 + lower(size / 2) * 53 + lower(size - 1) * 5) % kTableSize;
}

struct Entry {
  char name[kNameBytesMax];  // zero-padded
  uint8_t size;              // 0: free
  HeaderId id;
};

constexpr std::array<Entry, kTableSize> makeTable() {
  std::array<Entry, kTableSize> table{};
  for (const KnownName& known : kKnownNames) {
    size_t at = hashName(known.name.data(), known.name.size());
    while (table[at].size != 0) at = (at + 1) % kTableSize;
    for (size_t i = 0; i < known.name.size(); ++i) table[at].name[i] = known.name[i];
    table[at].size = static_cast<uint8_t>(known.name.size());
    table[at].id = known.id;
  }
  return table;
}

constexpr auto kTable = makeTable();

template <typename Word>
Word loadLower(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word | static_cast<Word>(0x2020202020202020ULL);
}

// Equal without case, given that `name` holds no control characters: then setting bit 5 maps only
// letters onto other letters. `known` is lower case.
bool sameName(const char* name, const char* known, size_t size) {
  if (size >= 8) {
    for (size_t at = 0; at + 8 < size; at += 8) {
      if (loadLower<uint64_t>(name + at) != loadLower<uint64_t>(known + at)) return false;
    }
    return loadLower<uint64_t>(name + size - 8) == loadLower<uint64_t>(known + size - 8);
  }
  if (size >= 4) {
    return loadLower<uint32_t>(name) == loadLower<uint32_t>(known) &&
           loadLower<uint32_t>(name + size - 4) == loadLower<uint32_t>(known + size - 4);
  }
  for (size_t i = 0; i < size; ++i) {
    if ((static_cast<unsigned char>(name[i]) | 0x20U) != static_cast<unsigned char>(known[i])) {
      return false;
    }
  }
  return true;
}

HeaderId lookUp(const char* name, size_t size) {
  for (size_t at = hashName(name, size); kTable[at].size != 0; at = (at + 1) % kTableSize) {
    const Entry& entry = kTable[at];
    if (entry.size == size && sameName(name, entry.name, size)) return entry.id;
  }
  return HeaderId::Other;
}

bool namesClientIdentity(HeaderId id) {
  return id >= HeaderId::Forwarded && id <= HeaderId::XRealIp;
}

// Applications that see CGI names cannot tell `_` from `-`. So a name that becomes one of the fields
// which only the proxy may write is taken for that field.
HeaderId lookUpUnderscored(std::string_view name) {
  char dashed[kNameBytesMax];
  if (name.size() > sizeof dashed) name = name.substr(0, sizeof dashed);
  for (size_t i = 0; i < name.size(); ++i) dashed[i] = name[i] == '_' ? '-' : name[i];
  const std::string_view text(dashed, name.size());
  if (startsWithIgnoreCase(text, "flamegate-")) return HeaderId::FlamegatePrivate;
  const HeaderId id = lookUp(dashed, name.size());
  return namesClientIdentity(id) ? id : HeaderId::Other;
}

}  // namespace

HeaderId findHeaderId(std::string_view name) {
  if (name.empty()) return HeaderId::Other;
  if (name.size() <= kNameBytesMax) {
    const HeaderId id = lookUp(name.data(), name.size());
    if (id != HeaderId::Other) return id;
  }
  const char first = toLowerAscii(name[0]);
  if (first != 'x' && first != 'f' && first != 'v') return HeaderId::Other;
  return lookUpUnderscored(name);
}

}  // namespace flamegate::proxy
