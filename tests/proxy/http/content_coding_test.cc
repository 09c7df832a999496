#include "proxy/http/content_coding.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace flamegate::proxy {
namespace {

class Collector final : public ByteSink {
 public:
  void onBytes(std::string_view bytes) override { text += bytes; }
  std::string text;
};

std::string sampleText(size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::string text;
  while (text.size() < size) {
    text += "<p class=row>line ";
    text += std::to_string(random() % 100);
    text += random() % 7 == 0 ? static_cast<char>(random()) : '\n';
  }
  text.erase(size);
  return text;
}

struct DeflateShape {
  int level;
  int strategy;
  int flush;  // between pieces
};

constexpr DeflateShape kShapes[] = {
    {6, Z_DEFAULT_STRATEGY, Z_NO_FLUSH},
    {0, Z_DEFAULT_STRATEGY, Z_NO_FLUSH},
    {9, Z_FIXED, Z_NO_FLUSH},
    {6, Z_HUFFMAN_ONLY, Z_NO_FLUSH},
    {1, Z_RLE, Z_NO_FLUSH},
    {6, Z_DEFAULT_STRATEGY, Z_SYNC_FLUSH},
    {6, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH},
    {6, Z_DEFAULT_STRATEGY, Z_PARTIAL_FLUSH},
    {6, Z_FIXED, Z_BLOCK},
};

// A gzip member with all optional header parts, made of pieces with the shape's flush between.
std::string deflateWith(const DeflateShape& shape, std::string_view text, size_t piece) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, shape.level, Z_DEFLATED, 31, 8, shape.strategy), Z_OK);
  gz_header header{};
  unsigned char name[] = "page.html";
  header.name = name;
  header.comment = name;
  header.extra = name;
  header.extra_len = 4;
  header.hcrc = 1;
  EXPECT_EQ(deflateSetHeader(&z, &header), Z_OK);
  std::string out(text.size() * 2 + 100000, '\0');
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  while (true) {
    const std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    z.avail_in = static_cast<uInt>(part.size());
    EXPECT_NE(deflate(&z, text.empty() ? Z_FINISH : shape.flush), Z_STREAM_ERROR);
    if (text.empty()) break;
  }
  out.erase(z.total_out);
  deflateEnd(&z);
  return out;
}

TEST(ContentCoding, KnowsItsNames) {
  EXPECT_EQ(findContentCoding("GZip"), ContentCoding::Gzip);
  EXPECT_EQ(findContentCoding("x-gzip"), ContentCoding::Gzip);
  EXPECT_EQ(findContentCoding("deflate"), ContentCoding::Deflate);
  EXPECT_EQ(findContentCoding("identity"), ContentCoding::Identity);
  EXPECT_EQ(findContentCoding("br"), std::nullopt);
  EXPECT_EQ(findContentCoding(""), std::nullopt);
}

TEST(ContentCoding, RoundTripsEverySize) {
  for (size_t size : {0U, 1U, 100U, 65535U, 65536U, 65537U, 1000000U}) {
    const std::string text = sampleText(size);
    for (ContentCoding coding :
         {ContentCoding::Identity, ContentCoding::Gzip, ContentCoding::Deflate}) {
      Result<std::string> decoded = decodeContent(coding, encodeContent(coding, text), {});
      ASSERT_TRUE(decoded) << decoded.error().detail;
      EXPECT_EQ(*decoded, text);
    }
  }
}

TEST(ContentDecoder, TakesOneByteAtATime) {
  const std::string text = sampleText(3000);
  for (ContentCoding coding : {ContentCoding::Gzip, ContentCoding::Deflate}) {
    ContentDecoder decoder(coding, {});
    Collector seen;
    for (char c : encodeContent(coding, text)) ASSERT_TRUE(decoder.write({&c, 1}, seen));
    EXPECT_TRUE(decoder.finish());
    EXPECT_EQ(seen.text, text);
    EXPECT_EQ(decoder.decodedBytes(), text.size());
  }
}

TEST(ContentDecoder, TakesDeflateWithoutItsWrapper) {
  const std::string text = sampleText(5000);
  const std::string wrapped = encodeContent(ContentCoding::Deflate, text);
  const std::string raw = wrapped.substr(2, wrapped.size() - 6);
  Result<std::string> decoded = decodeContent(ContentCoding::Deflate, raw, {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, text);
}

TEST(ContentDecoder, TakesSeveralGzipMembers) {
  const std::string encoded = encodeContent(ContentCoding::Gzip, "one,") +
                              encodeContent(ContentCoding::Gzip, "") +
                              encodeContent(ContentCoding::Gzip, "two");
  EXPECT_EQ(decodeContent(ContentCoding::Gzip, encoded, {}).value_or(""), "one,two");
}

TEST(ContentDecoder, RefusesBrokenContent) {
  const std::string encoded = encodeContent(ContentCoding::Gzip, sampleText(1000));
  for (size_t cut : {size_t{0}, size_t{5}, size_t{100}, encoded.size() - 1}) {
    EXPECT_FALSE(decodeContent(ContentCoding::Gzip, encoded.substr(0, cut), {})) << cut;
  }
  std::string corrupt = encoded;
  corrupt[corrupt.size() - 2] ^= 1;
  EXPECT_FALSE(decodeContent(ContentCoding::Gzip, corrupt, {}));
  EXPECT_FALSE(decodeContent(ContentCoding::Gzip, "not gzip", {}));
  EXPECT_FALSE(decodeContent(ContentCoding::Gzip, encoded + "tail", {}));
  EXPECT_FALSE(
      decodeContent(ContentCoding::Deflate, encodeContent(ContentCoding::Deflate, "a") + "b", {}));
}

TEST(ContentDecoder, StopsAtItsLimits) {
  const auto code = [](ContentCoding coding, std::string_view encoded, DecodeLimits limits) {
    Result<std::string> decoded = decodeContent(coding, encoded, limits);
    return decoded ? std::optional<ErrorCode>() : decoded.error().code;
  };
  const std::string thousand = encodeContent(ContentCoding::Gzip, std::string(1000, 'a'));
  EXPECT_EQ(code(ContentCoding::Gzip, thousand, {.decoded_bytes_max = 1000}), std::nullopt);
  EXPECT_EQ(code(ContentCoding::Gzip, thousand, {.decoded_bytes_max = 999}), ErrorCode::TooLarge);
  EXPECT_EQ(code(ContentCoding::Identity, "abc", {.decoded_bytes_max = 2}), ErrorCode::TooLarge);

  const std::string bomb = encodeContent(ContentCoding::Gzip, std::string(8U << 20, 'a'));
  EXPECT_EQ(code(ContentCoding::Gzip, bomb, {.ratio_max = 100}), ErrorCode::TooLarge);
  EXPECT_EQ(code(ContentCoding::Gzip, bomb, {.ratio_max = 100, .ratio_free_bytes = 8U << 20}),
            std::nullopt);
  EXPECT_EQ(code(ContentCoding::Gzip, bomb, {.ratio_max = 2000}), std::nullopt);
}

TEST(ContentEncoder, FlushesWhatWasWritten) {
  ContentEncoder encoder(ContentCoding::Gzip);
  ContentDecoder decoder(ContentCoding::Gzip, {});
  Collector seen;
  std::string expected;
  for (std::string_view part : {"one", "two", ""}) {
    std::string encoded;
    encoder.write(part, true, encoded);
    ASSERT_TRUE(decoder.write(encoded, seen));
    expected += part;
    EXPECT_EQ(seen.text, expected);
  }
}

struct Appended {
  std::string encoded;
  std::string decoded;  // what the appender saw
  bool appended;
};

Appended append(std::string_view encoded, size_t piece, std::string_view tail) {
  GzipAppender appender;
  Collector seen;
  Appended result;
  while (!encoded.empty()) {
    appender.write(encoded.substr(0, piece), result.encoded, seen);
    encoded.remove_prefix(std::min(piece, encoded.size()));
  }
  result.appended = appender.finish(tail, result.encoded);
  result.decoded = std::move(seen.text);
  return result;
}

TEST(GzipAppender, AppendsToEveryShapeOfStream) {
  for (size_t size : {0U, 1U, 7U, 1000U, 65535U, 65536U, 65537U, 200000U}) {
    const std::string text = sampleText(size);
    for (const DeflateShape& shape : kShapes) {
      const std::string encoded = deflateWith(shape, text, 5000);
      for (size_t piece : {size_t{1}, size_t{13}, size_t{4096}, SIZE_MAX}) {
        if (piece == 1 && size > 1000) continue;
        const Appended result = append(encoded, piece, "<script></script>");
        ASSERT_TRUE(result.appended);
        EXPECT_EQ(result.decoded, text);
        EXPECT_LE(result.encoded.size(), encoded.size() + 23);
        EXPECT_EQ(decodeContent(ContentCoding::Gzip, result.encoded, {}).value_or("?"),
                  text + "<script></script>");
      }
    }
  }
}

// Every number of bits that the last block can leave free in its last byte.
TEST(GzipAppender, AppendsAtEveryBit) {
  for (size_t size = 0; size < 64; ++size) {
    const std::string text(size, static_cast<char>('a' + size % 3));
    for (const DeflateShape& shape : kShapes) {
      const Appended result =
          append(deflateWith(shape, text + std::string(size % 5, 'z'), 3), 1, "tail");
      EXPECT_EQ(decodeContent(ContentCoding::Gzip, result.encoded, {}).value_or("?"),
                text + std::string(size % 5, 'z') + "tail");
    }
  }
}

TEST(GzipAppender, DecodesToTheSameWithoutATail) {
  for (const DeflateShape& shape : kShapes) {
    const std::string text = sampleText(20000);
    const Appended result = append(deflateWith(shape, text, 777), 100, "");
    EXPECT_FALSE(result.appended);
    EXPECT_EQ(decodeContent(ContentCoding::Gzip, result.encoded, {}).value_or("?"), text);
  }
}

TEST(GzipAppender, PassesTheRestOnAfterGivingUp) {
  const std::string text = sampleText(200000);
  for (const DeflateShape& shape : kShapes) {
    const std::string encoded = deflateWith(shape, text, 5000);
    for (size_t cut = 0; cut < encoded.size(); cut += encoded.size() / 17 + 1) {
      GzipAppender appender;
      Collector seen;
      std::string out;
      appender.write(std::string_view(encoded).substr(0, cut), out, seen);
      appender.giveUp();
      const size_t before = seen.text.size();
      appender.write(std::string_view(encoded).substr(cut), out, seen);
      EXPECT_FALSE(appender.finish("tail", out));
      EXPECT_EQ(seen.text.size(), before);
      EXPECT_EQ(decodeContent(ContentCoding::Gzip, out, {}).value_or("?"), text);
    }
  }
}

TEST(GzipAppender, KeepsBrokenStreamsBroken) {
  const std::string encoded = deflateWith(kShapes[0], sampleText(3000), 1000);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string corrupt = encoded;
    corrupt[random() % corrupt.size()] ^= static_cast<char>(1 + random() % 255);
    if (decodeContent(ContentCoding::Gzip, corrupt, {})) continue;  // a header bit without meaning
    const Appended result = append(corrupt, 1 + random() % 500, "tail");
    EXPECT_FALSE(result.appended);
    EXPECT_FALSE(decodeContent(ContentCoding::Gzip, result.encoded, {}));
  }
}

TEST(GzipAppender, TakesTheLongestTailOfOneStoredBlock) {
  const std::string tail(GzipAppender::kTailMax, 't');
  const Appended result = append(encodeContent(ContentCoding::Gzip, "a"), 1, tail);
  EXPECT_EQ(decodeContent(ContentCoding::Gzip, result.encoded, {}).value_or("?"), "a" + tail);
}

}  // namespace
}  // namespace flamegate::proxy
