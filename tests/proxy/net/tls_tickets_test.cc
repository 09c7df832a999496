#include "proxy/net/tls_tickets.h"

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr TimePoint kStart{1'000'000'000};

TEST(TlsTicketKeys, KeepsAKeyForAnHour) {
  TlsTicketKeys keys;
  const auto first = keys.current(kStart);
  ASSERT_TRUE(first);
  EXPECT_EQ(keys.current(kStart + minutes(59))->name, first->name);
  EXPECT_NE(keys.current(kStart + hours(1))->name, first->name);
}

TEST(TlsTicketKeys, FindsOldKeysAndAsksForNewTickets) {
  TlsTicketKeys keys;
  const TlsTicketKey first = *keys.current(kStart);
  EXPECT_FALSE(keys.find(first.name.data(), kStart)->renew);
  const auto later = keys.find(first.name.data(), kStart + hours(2));
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->renew);
  EXPECT_EQ(later->key.cipher, first.cipher);
}

TEST(TlsTicketKeys, ForgetsAKeyAfterItsTicketsHaveExpired) {
  TlsTicketKeys keys;
  const TlsTicketKey first = *keys.current(kStart);
  // A ticket made at the end of the key's hour lives for its whole time.
  for (int hour = 1; hour <= 12; ++hour) {
    keys.current(kStart + hours(hour));
    EXPECT_TRUE(keys.find(first.name.data(), kStart + hours(hour))) << hour;
  }
  EXPECT_TRUE(keys.find(first.name.data(), kStart + hours(12) + minutes(59)));
  keys.current(kStart + hours(13));
  EXPECT_FALSE(keys.find(first.name.data(), kStart + hours(13)));
}

TEST(TlsTicketKeys, DoesNotUseAKeyThatWasIdleForTooLong) {
  TlsTicketKeys keys;
  const TlsTicketKey first = *keys.current(kStart);
  EXPECT_FALSE(keys.find(first.name.data(), kStart + hours(14)));
}

TEST(TlsTicketKeys, DoesNotKnowOthersKeys) {
  TlsTicketKeys ours;
  TlsTicketKeys others;
  EXPECT_FALSE(ours.find(others.current(kStart)->name.data(), kStart));
}

}  // namespace
}  // namespace flamegate::proxy
