#include "proxy/http/scan.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

// Strings of up to 80 bytes in which about one byte in 40 is special.
std::string randomText(std::mt19937& random) {
  constexpr std::string_view kSpecial("\0\t\n\r\x1f \x7f:\x80\xff!", 11);
  std::string text(random() % 81, 'a');
  for (char& c : text) {
    c = random() % 40 == 0 ? kSpecial[random() % kSpecial.size()]
                           : static_cast<char>('a' + random() % 26);
  }
  return text;
}

TEST(Scan, VectorAndScalarFormsAgreeOnRandomText) {
  std::mt19937 random(20240607);
  for (int round = 0; round < 100'000; ++round) {
    const std::string text = randomText(random);
    const char* const end = text.data() + text.size();
    // From an odd address, so that no alignment is taken for granted.
    const char* const at =
        text.data() + (text.empty() ? 0 : random() % std::min<size_t>(text.size(), 16));
    ASSERT_EQ(findControl(at, end), findBelowScalar(at, end, 0x20)) << round;
    ASSERT_EQ(findControlOrBlank(at, end), findBelowScalar(at, end, 0x21)) << round;
    ASSERT_EQ(findNameEnd(at, end), findNameEndScalar(at, end)) << round;
  }
}

TEST(Scan, ClassifiesEveryByteAtEveryPlaceInABlock) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool control = byte < 0x20 || byte == 0x7f;
    for (size_t place = 0; place < 17; ++place) {
      std::string text(33, 'a');
      text[place] = static_cast<char>(byte);
      const char* const at = text.data();
      const char* const end = at + text.size();
      EXPECT_EQ(findControl(at, end) == at + place, control) << byte;
      EXPECT_EQ(findControlOrBlank(at, end) == at + place, control || byte == ' ') << byte;
      EXPECT_EQ(findNameEnd(at, end) == at + place, control || byte == ' ' || byte == ':') << byte;
    }
  }
}

TEST(Scan, TokensAreThoseOfTheRfc) {
  EXPECT_FALSE(isToken(""));
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool wanted =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        (byte != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
    EXPECT_EQ(isToken({&c, 1}), wanted) << byte;
  }
  EXPECT_TRUE(isToken("X-Custom"));
  EXPECT_FALSE(isToken("X Custom"));
}

}  // namespace
}  // namespace flamegate::proxy
