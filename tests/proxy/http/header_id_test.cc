#include "proxy/http/header_id.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

// Written out once more, so that a slip in the table's order or a hash that loses a name shows.
const std::map<std::string, HeaderId>& knownNames() {
  static const std::map<std::string, HeaderId> names = {
      {"Accept", HeaderId::Accept},
      {"Accept-Encoding", HeaderId::AcceptEncoding},
      {"Accept-Ranges", HeaderId::AcceptRanges},
      {"Access-Control-Allow-Origin", HeaderId::AccessControlAllowOrigin},
      {"Access-Control-Expose-Headers", HeaderId::AccessControlExposeHeaders},
      {"Access-Control-Request-Method", HeaderId::AccessControlRequestMethod},
      {"Authorization", HeaderId::Authorization},
      {"Cache-Control", HeaderId::CacheControl},
      {"CDN-Cache-Control", HeaderId::CdnCacheControl},
      {"Connection", HeaderId::Connection},
      {"Content-Digest", HeaderId::BodyDigest},
      {"Content-Disposition", HeaderId::ContentDisposition},
      {"Content-Encoding", HeaderId::ContentEncoding},
      {"Content-Length", HeaderId::ContentLength},
      {"Content-Security-Policy", HeaderId::ContentSecurityPolicy},
      {"Content-Type", HeaderId::ContentType},
      {"Cookie", HeaderId::Cookie},
      {"Date", HeaderId::Date},
      {"Digest", HeaderId::BodyDigest},
      {"ETag", HeaderId::Etag},
      {"Expect", HeaderId::Expect},
      {"Expires", HeaderId::Expires},
      {"Flamegate-Profile", HeaderId::FlamegatePrivate},
      {"Forwarded", HeaderId::Forwarded},
      {"Host", HeaderId::Host},
      {"HTTP2-Settings", HeaderId::Http2Settings},
      {"HX-Request", HeaderId::FragmentRequest},
      {"Keep-Alive", HeaderId::KeepAlive},
      {"Last-Modified", HeaderId::LastModified},
      {"Location", HeaderId::Location},
      {"Max-Forwards", HeaderId::MaxForwards},
      {"Origin", HeaderId::Origin},
      {"Pragma", HeaderId::Pragma},
      {"Proxy-Connection", HeaderId::ProxyConnection},
      {"Referer", HeaderId::Referer},
      {"Repr-Digest", HeaderId::BodyDigest},
      {"Sec-Fetch-Dest", HeaderId::SecFetchDest},
      {"Sec-Fetch-Mode", HeaderId::SecFetchMode},
      {"Sec-Fetch-Site", HeaderId::SecFetchSite},
      {"Set-Cookie", HeaderId::SetCookie},
      {"Signature", HeaderId::Signature},
      {"Surrogate-Control", HeaderId::SurrogateControl},
      {"TE", HeaderId::Te},
      {"Trailer", HeaderId::Trailer},
      {"Transfer-Encoding", HeaderId::TransferEncoding},
      {"Turbo-Frame", HeaderId::FragmentRequest},
      {"Upgrade", HeaderId::Upgrade},
      {"User-Agent", HeaderId::UserAgent},
      {"Vary", HeaderId::Vary},
      {"Via", HeaderId::Via},
      {"X-Forwarded-For", HeaderId::XForwardedFor},
      {"X-Forwarded-Host", HeaderId::XForwardedHost},
      {"X-Forwarded-Port", HeaderId::XForwardedPort},
      {"X-Forwarded-Proto", HeaderId::XForwardedProto},
      {"X-Inertia", HeaderId::FragmentRequest},
      {"X-MiniProfiler-Flamegraph-Path", HeaderId::XMiniProfilerFlamegraphPath},
      {"X-MiniProfiler-Ids", HeaderId::XMiniProfilerIds},
      {"X-PJAX", HeaderId::FragmentRequest},
      {"X-Rack-Mini-Profiler", HeaderId::XRackMiniProfiler},
      {"X-Real-IP", HeaderId::XRealIp},
      {"X-Requested-With", HeaderId::XRequestedWith},
      {"X-Turbo-Request-Id", HeaderId::FragmentRequest},
      {"X-Up-Version", HeaderId::FragmentRequest},
  };
  return names;
}

std::string mapped(std::string text, int (*change)(int)) {
  for (char& c : text) c = static_cast<char>(change(static_cast<unsigned char>(c)));
  return text;
}

TEST(HeaderId, KnowsEveryNameInAnyCase) {
  HeaderIdSet tested;
  for (const auto& [name, id] : knownNames()) tested.add(id);
  for (size_t id = 1; id < static_cast<size_t>(HeaderId::Count); ++id) {
    EXPECT_TRUE(tested.has(static_cast<HeaderId>(id))) << "id " << id << " is untested";
  }
  for (const auto& [name, id] : knownNames()) {
    EXPECT_EQ(findHeaderId(name), id) << name;
    EXPECT_EQ(findHeaderId(mapped(name, std::tolower)), id) << name;
    EXPECT_EQ(findHeaderId(mapped(name, std::toupper)), id) << name;
  }
}

TEST(HeaderId, TakesNoNeighbourOfAKnownName) {
  for (const auto& [name, id] : knownNames()) {
    if (id == HeaderId::FlamegatePrivate) continue;
    for (size_t i = 0; i < name.size(); ++i) {
      std::string other = name;
      other[i] = other[i] == 'q' ? 'j' : 'q';
      EXPECT_EQ(findHeaderId(other), HeaderId::Other) << other;
    }
    EXPECT_EQ(findHeaderId(name + "s"), HeaderId::Other) << name;
    EXPECT_NE(findHeaderId(name.substr(0, name.size() - 1)), id) << name;
    EXPECT_EQ(findHeaderId("X" + name), HeaderId::Other) << name;
  }
}

TEST(HeaderId, TellsApartBytesThatDifferOnlyInTheBitOfCase) {
  // 0x0d is `-` and 0x14 is `4` without bit 5; neither can stand in a parsed name, but 0xc8 can.
  EXPECT_EQ(findHeaderId("\xc8ost"), HeaderId::Other);
  EXPECT_EQ(findHeaderId("Cont\xc5nt-Length"), HeaderId::Other);
  EXPECT_EQ(findHeaderId("Content_Length"), HeaderId::Other);
  EXPECT_EQ(findHeaderId("Transfer_Encoding"), HeaderId::Other);
}

TEST(HeaderId, IsOtherForUnknownEmptyAndEndlessNames) {
  EXPECT_EQ(findHeaderId(""), HeaderId::Other);
  EXPECT_EQ(findHeaderId("X"), HeaderId::Other);
  EXPECT_EQ(findHeaderId("X-Custom"), HeaderId::Other);
  EXPECT_EQ(findHeaderId("Flamegate"), HeaderId::Other);
  EXPECT_EQ(findHeaderId(std::string(70'000, 'x')), HeaderId::Other);
  EXPECT_EQ(findHeaderId(std::string(70'000, '_')), HeaderId::Other);
}

// An application that sees CGI names cannot tell these from the fields that the proxy writes.
TEST(HeaderId, TakesUnderscoredIdentityFieldsForTheRealOnes) {
  EXPECT_EQ(findHeaderId("X_Forwarded_For"), HeaderId::XForwardedFor);
  EXPECT_EQ(findHeaderId("x_forwarded-proto"), HeaderId::XForwardedProto);
  EXPECT_EQ(findHeaderId("X-FORWARDED_HOST"), HeaderId::XForwardedHost);
  EXPECT_EQ(findHeaderId("x_forwarded_port"), HeaderId::XForwardedPort);
  EXPECT_EQ(findHeaderId("X_Real_IP"), HeaderId::XRealIp);
  EXPECT_EQ(findHeaderId("X_Rack_Mini_Profiler"), HeaderId::Other);
}

TEST(HeaderId, TakesEveryNameUnderTheOwnPrefixForPrivate) {
  EXPECT_EQ(findHeaderId("flamegate-"), HeaderId::FlamegatePrivate);
  EXPECT_EQ(findHeaderId("FLAMEGATE_ACK"), HeaderId::FlamegatePrivate);
  EXPECT_EQ(findHeaderId("Flamegate_Meta-x"), HeaderId::FlamegatePrivate);
  EXPECT_EQ(findHeaderId("flamegate-" + std::string(300, 'a')), HeaderId::FlamegatePrivate);
  EXPECT_EQ(findHeaderId("x-flamegate-ack"), HeaderId::Other);
}

}  // namespace
}  // namespace flamegate::proxy
