#include "control/profiles/compression.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "control/profiles/limits.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;

std::string deflateZstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string noise(size_t size) {
  std::string out;
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    out.push_back(static_cast<char>(state >> 24));
  }
  return out;
}

TEST(Compression, GivesBackWhatWasDeflated) {
  for (const std::string& text : {std::string(), std::string("a"), noise(100'000)}) {
    EXPECT_EQ(inflateGzip(deflateGzip(text)), text);
    EXPECT_EQ(inflateZstd(deflateZstd(text)), text);
  }
}

TEST(Compression, DeflatesEqualInputToEqualBytes) {
  EXPECT_EQ(deflateGzip("profile"), deflateGzip("profile"));
}

TEST(Compression, ReadsAllMembersOfAGzipFile) {
  EXPECT_EQ(inflateGzip(deflateGzip("one ") + deflateGzip("") + deflateGzip("two")), "one two");
  EXPECT_EQ(inflateZstd(deflateZstd("one ") + deflateZstd("two")), "one two");
}

TEST(Compression, RefusesEveryTruncation) {
  const std::string gzip = deflateGzip(noise(300));
  for (size_t size = 0; size < gzip.size(); ++size) {
    const auto result = inflateGzip(std::string_view(gzip).substr(0, size));
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().code, ErrorCode::Malformed);
  }
  const std::string zstd = deflateZstd(noise(300));
  for (size_t size = 0; size < zstd.size(); ++size) {
    ASSERT_FALSE(inflateZstd(std::string_view(zstd).substr(0, size))) << size;
  }
}

TEST(Compression, RefusesBytesAfterTheEndAndBrokenSums) {
  EXPECT_FALSE(inflateGzip(deflateGzip("text") + "x"));
  std::string broken = deflateGzip("text");
  broken[broken.size() - 6] ^= 1;
  EXPECT_FALSE(inflateGzip(broken));
}

TEST(Compression, RefusesMoreThanAHundredTimesTheInputAboveOneMebibyte) {
  EXPECT_TRUE(inflateGzip(deflateGzip(std::string(kRatioFreeBytes, 'a'))));
  const auto gzip = inflateGzip(deflateGzip(std::string(kRatioFreeBytes + 1, 'a')));
  ASSERT_FALSE(gzip);
  EXPECT_EQ(gzip.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(gzip.error().detail, "more than 100 times its size after decompression");
  EXPECT_EQ(inflateZstd(deflateZstd(std::string(kRatioFreeBytes + 1, 'a'))).error().code,
            ErrorCode::TooLarge);
}

TEST(Compression, RefusesMoreThan32Mebibytes) {
  std::string text = noise(size_t{1} << 20);
  text.resize(kInflatedBytesMax, 'a');
  EXPECT_EQ(inflateGzip(deflateGzip(text))->size(), kInflatedBytesMax);
  const auto over = inflateGzip(deflateGzip(text + "a"));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(over.error().detail, "more than 32 MiB after decompression");
}

TEST(Compression, ChoosesByTheCodingsName) {
  EXPECT_EQ(inflateBody("", "plain"), "plain");
  EXPECT_EQ(inflateBody("Identity", "plain"), "plain");
  EXPECT_EQ(inflateBody("GZIP", deflateGzip("text")), "text");
  EXPECT_EQ(inflateBody("x-gzip", deflateGzip("text")), "text");
  EXPECT_EQ(inflateBody("zstd", deflateZstd("text")), "text");
  EXPECT_EQ(inflateBody("br", "text").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(inflateBody("gzip, gzip", "text").error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace flamegate::control
