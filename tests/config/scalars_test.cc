#include "config/schema/scalars.h"

#include <string>

#include <gtest/gtest.h>

namespace flamegate::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsAnIntegerAndAUnit) {
  EXPECT_EQ(parseDuration("500us"), 500us);
  EXPECT_EQ(parseDuration("20ms"), 20ms);
  EXPECT_EQ(parseDuration("5s"), 5s);
  EXPECT_EQ(parseDuration("1m"), 1min);
  EXPECT_EQ(parseDuration("24h"), 24h);
  EXPECT_EQ(parseDuration("0"), 0s);
  EXPECT_EQ(parseDuration("0ms"), 0s);
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"", "5", "s", "5 s", "1.5s", "-1s", "+1s", "5S", "5sec", "1h30m", "1d",
                           " 5s", "5s ", "00x", "0x5s", "99999999999999999999s"}) {
    EXPECT_EQ(parseDuration(text), std::nullopt) << text;
  }
}

TEST(Duration, StopsAtItsLimit) {
  EXPECT_EQ(parseDuration("8784h"), kDurationMax);
  EXPECT_EQ(parseDuration("8785h"), std::nullopt);
  EXPECT_EQ(parseDuration("31622400000001us"), std::nullopt);
}

TEST(Duration, IsWrittenWithTheLargestUnitThatFits) {
  for (const char* text : {"0", "1us", "1001us", "20ms", "90s", "1m", "24h"}) {
    EXPECT_EQ(formatDuration(*parseDuration(text)), text);
  }
  EXPECT_EQ(formatDuration(3600s), "1h");
}

TEST(Size, ReadsAnIntegerAndAUnit) {
  EXPECT_EQ(parseSize("64KiB"), 65536U);
  EXPECT_EQ(parseSize("4MiB"), 4 * kMiB);
  EXPECT_EQ(parseSize("1GiB"), kGiB);
  EXPECT_EQ(parseSize("100B"), 100U);
  EXPECT_EQ(parseSize("0"), 0U);
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", "64", "64k", "64KB", "64kib", "KiB", "-1KiB", "1.5MiB", "1 MiB"}) {
    EXPECT_EQ(parseSize(text), std::nullopt) << text;
  }
}

TEST(Size, StopsAtItsLimit) {
  EXPECT_EQ(parseSize("1048576GiB"), kSizeMax);
  EXPECT_EQ(parseSize("1048577GiB"), std::nullopt);
  EXPECT_EQ(parseSize("18446744073709551616B"), std::nullopt);
}

TEST(Size, IsWrittenWithTheLargestUnitThatFits) {
  for (const char* text : {"0", "1B", "1025B", "64KiB", "4MiB", "3GiB"}) {
    EXPECT_EQ(formatSize(*parseSize(text)), text);
  }
}

TEST(Address, ReadsHostsNamesAndSockets) {
  EXPECT_EQ(parseAddress("0.0.0.0:8080"), Address::tcp("0.0.0.0", 8080));
  EXPECT_EQ(parseAddress("[::1]:443"), Address::tcp("::1", 443));
  EXPECT_EQ(parseAddress("app.internal:3000"), Address::tcp("app.internal", 3000));
  EXPECT_EQ(parseAddress("my_app:0"), Address::tcp("my_app", 0));
  EXPECT_EQ(parseAddress("unix:/run/app.sock"), Address::unixSocket("/run/app.sock"));
}

TEST(Address, RefusesEverythingElse) {
  for (const char* text : {"",
                           ":",
                           ":80",
                           "host",
                           "host:",
                           "host:65536",
                           "host:-1",
                           "host:8o",
                           "::1:80",
                           "[::1]",
                           "[127.0.0.1]:80",
                           "[]:80",
                           "[::1]80",
                           "1.2.3:80",
                           "256.1.1.1:80",
                           "-a:80",
                           "a..b:80",
                           "a b:80",
                           "unix:",
                           "unix:/",
                           "unix:relative",
                           "http://host:80",
                           "*:80"}) {
    EXPECT_EQ(parseAddress(text), std::nullopt) << text;
  }
}

TEST(Address, StopsAtTheLimitsOfSocketsAndNames) {
  const std::string path(kUnixPathBytesMax - 1, 'x');
  EXPECT_TRUE(parseAddress(std::string("unix:/").append(path)));
  EXPECT_FALSE(parseAddress(std::string("unix:/x").append(path)));
  const std::string label(63, 'a');
  EXPECT_TRUE(parseAddress(std::string(label).append(":80")));
  EXPECT_FALSE(parseAddress(std::string(label).append("a:80")));
  EXPECT_FALSE(parseAddress(std::string("unix:/a\0b", 9)));
}

TEST(Address, IsWrittenAsItIsRead) {
  for (const char* text : {"0.0.0.0:8080", "[2001:db8::1]:443", "app:1", "unix:/run/a.sock"}) {
    EXPECT_EQ(formatAddress(*parseAddress(text)), text);
  }
}

TEST(Cidr, ReadsNetworksAndSingleAddresses) {
  for (const char* text : {"127.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "::/0", "2001:db8::/32"}) {
    ASSERT_TRUE(parseCidr(text)) << text;
    EXPECT_EQ(formatCidr(*parseCidr(text)), text);
  }
  EXPECT_EQ(parseCidr("::1"), parseCidr("::1/128"));
  EXPECT_EQ(parseCidr("10.1.2.3"), parseCidr("10.1.2.3/32"));
}

TEST(Cidr, RefusesEverythingElse) {
  for (const char* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.1/8", "::1/64", "10/8", "localhost",
        "[::1]", "fe80::1%eth0", "10.0.0.0/8/8", "1.2.3.4/-1"}) {
    EXPECT_EQ(parseCidr(text), std::nullopt) << text;
  }
}

TEST(Cidr, ContainsTheAddressesOfItsOwnFamily) {
  const Cidr loopback = *parseCidr("127.0.0.0/8");
  EXPECT_TRUE(loopback.contains(*parseIp("127.0.0.1")));
  EXPECT_TRUE(loopback.contains(*parseIp("127.255.255.255")));
  EXPECT_TRUE(loopback.contains(*parseIp("::ffff:127.0.0.1")));
  EXPECT_FALSE(loopback.contains(*parseIp("128.0.0.1")));
  EXPECT_FALSE(loopback.contains(*parseIp("::1")));
  EXPECT_FALSE(parseCidr("0.0.0.0/0")->contains(*parseIp("2001:db8::1")));
  EXPECT_TRUE(parseCidr("10.1.2.128/25")->contains(*parseIp("10.1.2.200")));
  EXPECT_FALSE(parseCidr("10.1.2.128/25")->contains(*parseIp("10.1.2.127")));
}

TEST(Cidr, OfEveryIpv6AddressLeavesOutIpv4) {
  EXPECT_TRUE(parseCidr("::/0")->contains(*parseIp("2001:db8::1")));
  EXPECT_FALSE(parseCidr("::/0")->contains(*parseIp("10.0.0.1")));
}

}  // namespace
}  // namespace flamegate::config
