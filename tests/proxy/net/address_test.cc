#include "proxy/net/address.h"

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

TEST(Address, ReadsAndWritesEachKind) {
  for (const char* text : {"127.0.0.1:80", "0.0.0.0:0", "[::1]:8080", "unix:/run/app.sock"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->toString(), text);
    EXPECT_EQ(Address::fromSockaddr(address->get(), address->size()).toString(), text);
  }
}

TEST(Address, TellsHostAndPort) {
  EXPECT_EQ(Address::parse("127.0.0.1:80")->host(), "127.0.0.1");
  EXPECT_EQ(Address::parse("[::1]:8080")->host(), "::1");
  EXPECT_EQ(Address::parse("[::1]:8080")->port(), 8080);
  EXPECT_EQ(Address::parse("[::ffff:10.0.0.1]:1")->host(), "10.0.0.1");
  EXPECT_EQ(Address::parse("unix:/a")->host(), "unix");
  EXPECT_EQ(Address::parse("unix:/a")->port(), 0);
}

TEST(Address, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(""), std::string("127.0.0.1"), std::string("127.0.0.1:"),
        std::string("127.0.0.1:65536"), std::string("127.0.0.1:x"), std::string("::1:80"),
        std::string("[::1]"), std::string("[::1:80"), std::string("[x]:80"),
        std::string("localhost:80"), std::string("unix:"), "unix:/" + std::string(200, 'a')}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
}

}  // namespace
}  // namespace flamegate::proxy
