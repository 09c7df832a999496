#include "proxy/http/date.h"

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

TEST(DateCache, WritesTheFixedFormOfTheRfc) {
  DateCache date;
  EXPECT_EQ(date.text(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date.text(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(date.text(4102444799), "Thu, 31 Dec 2099 23:59:59 GMT");
}

TEST(DateCache, FollowsAClockThatIsSetBack) {
  DateCache date;
  EXPECT_EQ(date.text(784111778), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(date.text(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.text(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace flamegate::proxy
