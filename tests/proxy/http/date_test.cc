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

TEST(TimestampCache, WritesMillisecondsWithinAndAcrossSeconds) {
  TimestampCache timestamp;
  EXPECT_EQ(timestamp.text(784111777'007), "1994-11-06T08:49:37.007Z");
  EXPECT_EQ(timestamp.text(784111777'999), "1994-11-06T08:49:37.999Z");
  EXPECT_EQ(timestamp.text(784111778'000), "1994-11-06T08:49:38.000Z");
  EXPECT_EQ(timestamp.text(784111777'120), "1994-11-06T08:49:37.120Z") << "a clock set back";
  EXPECT_EQ(timestamp.text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(timestamp.text(951782400'000), "2000-02-29T00:00:00.000Z");
}

}  // namespace
}  // namespace flamegate::proxy
