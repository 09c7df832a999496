#include "proxy/profiling/client_address.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

using config::Cidr;
using config::IpBytes;
using config::parseCidr;
using config::parseIp;

ClientAddress addressOf(const char* peer, const std::vector<Cidr>& trusted, const Lines& lines) {
  const TestHead head("/", lines);
  return findClientAddress(parseIp(peer), trusted, head.request.fields);
}

TEST(ClientAddress, IsThePeerWhenItIsNotTrusted) {
  for (const Lines& lines :
       {Lines{}, Lines{{"X-Forwarded-For", "10.0.0.1"}},
        Lines{{"X-Forwarded-For", "10.0.0.1"}, {"X-Forwarded-For", "10.0.0.1"}},
        Lines{{"Forwarded", "for=10.0.0.1"}}, Lines{{"X_Forwarded_For", "10.0.0.1"}}}) {
    const ClientAddress client = addressOf("203.0.113.9", {}, lines);
    EXPECT_EQ(client.ip, parseIp("203.0.113.9"));
    EXPECT_FALSE(client.peer_trusted);
  }
}

TEST(ClientAddress, WalksFromTheRightToTheFirstUntrusted) {
  const std::vector<Cidr> trusted = {*parseCidr("10.0.0.0/8"), *parseCidr("fd00::/8")};
  const auto walk = [&trusted](const Lines& lines) {
    return addressOf("10.0.0.1", trusted, lines).ip;
  };
  EXPECT_EQ(walk({{"X-Forwarded-For", "1.1.1.1, 2.2.2.2"}}), parseIp("2.2.2.2"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "1.1.1.1, 2.2.2.2, 10.1.1.1"}}), parseIp("2.2.2.2"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "127.0.0.1"}}), parseIp("127.0.0.1"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "1.1.1.1"}, {"X-Forwarded-For", "10.2.2.2"}}),
            parseIp("1.1.1.1"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "1.1.1.1"}, {"X-Forwarded-For", "2.2.2.2"}}),
            parseIp("2.2.2.2"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "10.3.3.3, 10.2.2.2"}}), parseIp("10.3.3.3"))
      << "all trusted: the farthest";
  EXPECT_EQ(walk({{"X-Forwarded-For", "1.1.1.1:4711"}}), parseIp("1.1.1.1"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "[2001:db8::1]:80, [fd00::1]"}}), parseIp("2001:db8::1"));
  EXPECT_EQ(walk({{"X-Forwarded-For", "2001:db8::1"}}), parseIp("2001:db8::1"));
}

TEST(ClientAddress, IsUnknownAfterAnEntryThatIsNone) {
  const std::vector<Cidr> trusted = {*parseCidr("10.0.0.0/8")};
  for (const char* list :
       {"unknown", "_hidden", "1.1.1.1, ", "", "1.1.1.1, localhost", "1.1.1.1, 10.0.0.300",
        "1.1.1.1,, 10.1.1.1", "[::1", "[::1]x", "1.1.1.1:x", "1.1.1.1:"}) {
    EXPECT_FALSE(addressOf("10.0.0.1", trusted, {{"X-Forwarded-For", list}}).ip) << list;
  }
}

TEST(ClientAddress, IsUnknownBehindARelayThatDoesNotSay) {
  for (const char* name : {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"}) {
    const Lines lines = {{name, "203.0.113.1"}};
    EXPECT_FALSE(addressOf("127.0.0.1", {}, lines).ip) << name;
    EXPECT_FALSE(addressOf("127.9.9.9", {}, lines).ip) << name;
    EXPECT_FALSE(addressOf("::1", {}, lines).ip) << name;
    EXPECT_FALSE(addressOf("::ffff:127.0.0.1", {}, lines).ip) << name;
    EXPECT_TRUE(addressOf("192.168.0.1", {}, lines).ip) << name;
  }
  EXPECT_EQ(addressOf("127.0.0.1", {}, {}).ip, parseIp("127.0.0.1"));
  const std::vector<Cidr> trusted = {*parseCidr("127.0.0.0/8")};
  EXPECT_FALSE(addressOf("127.0.0.1", trusted, {{"Via", "1.1 front"}}).ip);
  EXPECT_EQ(addressOf("127.0.0.1", trusted, {}).ip, parseIp("127.0.0.1"));
  EXPECT_EQ(
      addressOf("127.0.0.1", trusted, {{"X-Forwarded-For", "203.0.113.1"}, {"Via", "1.1 front"}})
          .ip,
      parseIp("203.0.113.1"));
}

TEST(ClientAddress, IsNoneForUnixPeers) {
  const TestHead head("/", {{"X-Forwarded-For", "127.0.0.1"}});
  const ClientAddress client = findClientAddress(std::nullopt, {}, head.request.fields);
  EXPECT_TRUE(client.unix_peer);
  EXPECT_FALSE(client.ip);
  EXPECT_FALSE(client.peer_trusted);
}

}  // namespace
}  // namespace flamegate::proxy
