#include "proxy/net/proxy_protocol.h"

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using namespace std::string_literals;
using State = ProxyHeaderParse::State;
using Origin = ProxyHeader::Origin;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string version2(unsigned command, unsigned kind, const std::string& content) {
  std::string header = kSignature;
  header += static_cast<char>(command);
  header += static_cast<char>(kind);
  header += static_cast<char>(content.size() >> 8);
  header += static_cast<char>(content.size() & 0xff);
  return header + content;
}

const std::string kV4 = "\x0a\x01\x02\x03\xc0\xa8\x00\x01\x30\x39\x01\xbb"s;  // 10.1.2.3:12345
const std::string kV6 =
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"s + std::string(16, '\0') + "\x30\x39\x01\xbb"s;

// "malformed", "incomplete", or whom the header names and what follows it.
std::string read(std::string_view bytes) {
  const ProxyHeaderParse parse = parseProxyHeader(bytes);
  switch (parse.state) {
    case State::Malformed:
      return "malformed";
    case State::Incomplete:
      return "incomplete";
    case State::Complete:
      break;
  }
  const std::string rest(bytes.substr(parse.header.bytes));
  switch (parse.header.origin) {
    case Origin::Client:
      return parse.header.client.toString() + " " + rest;
    case Origin::Unnamed:
      return "unnamed " + rest;
    case Origin::Proxy:
      return "proxy " + rest;
  }
  return "";
}

TEST(ProxyProtocol, ReadsLines) {
  EXPECT_EQ(read("PROXY TCP4 10.1.2.3 192.168.0.1 12345 443\r\nGET"), "10.1.2.3:12345 GET");
  EXPECT_EQ(read("PROXY TCP6 2001:db8::7 ::1 12345 443\r\nGET"), "[2001:db8::7]:12345 GET");
  EXPECT_EQ(read("PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n"), "0.0.0.0:0 ");
  EXPECT_EQ(read("PROXY UNKNOWN\r\nGET"), "unnamed GET");
  EXPECT_EQ(read("PROXY UNKNOWN ffff:f...f ffff 65535 65535\r\nGET"), "unnamed GET");
}

TEST(ProxyProtocol, RefusesLinesThatTheGrammarForbids) {
  for (const char* line : {"PROXY  TCP4 10.1.2.3 10.0.0.1 1 2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 1  2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 1 2 ",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 1",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 1 2 3",
                           "PROXY TCP4 10.1.2 10.0.0.1 1 2",
                           "PROXY TCP4 10.1.2.300 10.0.0.1 1 2",
                           "PROXY TCP4 ::1 ::2 1 2",
                           "PROXY TCP6 10.1.2.3 10.0.0.1 1 2",
                           "PROXY TCP6 ::1 10.0.0.1 1 2",
                           "PROXY TCP4 10.1.2.3 x 1 2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 65536 2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 01 2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 -1 2",
                           "PROXY TCP4 10.1.2.3 10.0.0.1 1 +2",
                           "PROXY UDP4 10.1.2.3 10.0.0.1 1 2",
                           "PROXY tcp4 10.1.2.3 10.0.0.1 1 2",
                           "PROXY UNKNOWNS",
                           "PROXY ",
                           "PROXY TCP4"}) {
    EXPECT_EQ(read(std::string(line) + "\r\n"), "malformed") << line;
  }
  EXPECT_EQ(read("PROXY TCP4 10.1.2.3 10.0.0.1 1 2\n"), "malformed") << "line end without CR";
  EXPECT_EQ(read("PROXY\n"), "malformed");
  EXPECT_EQ(read("GET / HTTP/1.1\r\n"), "malformed");
  EXPECT_EQ(read("\x16\x03\x01"), "malformed") << "TLS";
}

TEST(ProxyProtocol, BoundsLines) {
  const std::string longest = "PROXY UNKNOWN " + std::string(107 - 16, 'x') + "\r\n";
  ASSERT_EQ(longest.size(), 107U);
  EXPECT_EQ(read(longest), "unnamed ");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(107 - 15, 'x') + "\r\n"), "malformed");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(107 - 14, 'x')), "malformed");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(106 - 14, 'x')), "incomplete");
}

TEST(ProxyProtocol, ReadsBinaryHeaders) {
  EXPECT_EQ(read(version2(0x21, 0x11, kV4) + "GET"), "10.1.2.3:12345 GET");
  EXPECT_EQ(read(version2(0x21, 0x21, kV6) + "GET"), "[2001:db8::7]:12345 GET");
  EXPECT_EQ(read(version2(0x20, 0x11, kV4) + "GET"), "proxy GET") << "LOCAL";
  EXPECT_EQ(read(version2(0x20, 0, "") + "GET"), "proxy GET");
  EXPECT_EQ(read(version2(0x20, 0xff, "anything") + "GET"), "proxy GET");
  EXPECT_EQ(read(version2(0x21, 0, "") + "GET"), "unnamed GET");
  EXPECT_EQ(read(version2(0x21, 0x31, std::string(216, 'u')) + "GET"), "unnamed GET");
  EXPECT_EQ(read(version2(0x21, 0x12, kV4) + "GET"), "unnamed GET") << "UDP";
}

TEST(ProxyProtocol, SkipsTypeLengthVectors) {
  const std::string vectors =
      "\x02\x00\x06"
      "a.test"
      "\x04\x00\x00"s;
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + vectors) + "GET"), "10.1.2.3:12345 GET");
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + "\x02")), "malformed");
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + "\x02\x00"s)), "malformed");
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + "\x02\x00\x02x"s)), "malformed");
}

TEST(ProxyProtocol, RefusesBinaryHeadersThatTheGrammarForbids) {
  EXPECT_EQ(read(version2(0x11, 0x11, kV4)), "malformed") << "version 1 in binary";
  EXPECT_EQ(read(version2(0x22, 0x11, kV4)), "malformed") << "unknown command";
  EXPECT_EQ(read(version2(0x21, 0x41, kV4)), "malformed") << "unknown family";
  EXPECT_EQ(read(version2(0x21, 0x13, kV4)), "malformed") << "unknown protocol";
  EXPECT_EQ(read(version2(0x21, 0x11, kV4.substr(1))), "malformed") << "too short";
  EXPECT_EQ(read(version2(0x21, 0x21, kV6.substr(1))), "malformed");
  EXPECT_EQ(read(version2(0x21, 0x31, std::string(215, 'u'))), "malformed");
  EXPECT_EQ(read("\r\n\r\nGET"), "malformed");
}

TEST(ProxyProtocol, BoundsBinaryHeaders) {
  const size_t room = kProxyHeaderBytesMax - 16 - kV4.size() - 3;
  const auto vector = [](size_t size) {
    return "\xee"s + static_cast<char>(size >> 8) + static_cast<char>(size & 0xff) +
           std::string(size, 'v');
  };
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + vector(room))), "10.1.2.3:12345 ");
  EXPECT_EQ(read(version2(0x21, 0x11, kV4 + vector(room + 1)).substr(0, 16)), "malformed");
}

TEST(ProxyProtocol, WaitsForTheRestByteByByte) {
  const std::string vectors =
      "\x02\x00\x06"
      "a.test"s;
  for (const std::string& header :
       {"PROXY TCP4 10.1.2.3 192.168.0.1 12345 443\r\n"s, version2(0x21, 0x11, kV4 + vectors)}) {
    for (size_t i = 0; i < header.size(); ++i) {
      ASSERT_EQ(read(header.substr(0, i)), "incomplete") << i;
    }
    EXPECT_EQ(read(header), "10.1.2.3:12345 ");
  }
}

}  // namespace
}  // namespace flamegate::proxy
