#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "proxy/http/http1_body.h"

namespace flamegate::proxy {
namespace {

// What a decoder makes of a body whose input arrives in pieces of `piece` bytes, as a connection
// would feed it: framing is dropped at once, content taken at most `take` bytes at a time.
struct Decoded {
  std::string content;
  std::string trailers;
  Http1Fault fault = Http1Fault::None;
  bool done = false;
  size_t left_over = 0;

  bool operator==(const Decoded&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Decoded& decoded) {
  return out << "content " << decoded.content.size() << " trailers '" << decoded.trailers
             << "' fault " << http1FaultName(decoded.fault) << " done " << decoded.done << " left "
             << decoded.left_over;
}

Decoded decode(Framing framing, uint64_t length, std::string_view input, size_t piece,
               size_t take = SIZE_MAX) {
  Http1BodyDecoder decoder;
  decoder.begin(framing, length);
  Decoded out;
  std::string held;
  size_t fed = 0;
  for (;;) {
    const Http1BodyDecoder::Step step = decoder.look(held);
    if (step.fault != Http1Fault::None) {
      out.fault = step.fault;
      return out;
    }
    out.trailers += step.trailers;
    const size_t taken = std::min(step.content_bytes, take);
    out.content += held.substr(step.framing_bytes, taken);
    held.erase(0, step.framing_bytes + taken);
    if (taken > 0) {
      decoder.take(taken);
      continue;
    }
    if (decoder.done() || fed == input.size()) break;
    held += input.substr(fed, piece);
    fed = std::min(fed + piece, input.size());
  }
  out.done = decoder.done();
  out.left_over = held.size() + input.size() - fed;
  return out;
}

struct Case {
  std::string input;
  std::string content;
  Http1Fault fault = Http1Fault::None;
  bool done = true;
};

const std::vector<Case>& chunkedCases() {
  using F = Http1Fault;
  static const std::vector<Case> all = {
      {"0\r\n\r\n", ""},
      {"5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
      {"A\r\n0123456789\r\n00\r\n\r\n", "0123456789"},
      {"9\r\n0\r\n\r\n1\r\n3\r\n0\r\n\r\n", "0\r\n\r\n1\r\n3"},
      {"00000000000000f\r\n012345678901234\r\n0\r\n\r\n", "012345678901234"},
      {"5;name=value;x=\"y\tz\"\r\nhello\r\n0;last\r\n\r\n", "hello"},
      {"5\r\nhello\r\n0\r\nX: 1\r\nY: 2\r\n\r\n", "hello"},
      {"5\r\nhel", "hel", F::None, false},
      {"5\r\nhello\r\n", "hello", F::None, false},
      {"5\r\nhello\r\n0\r\n", "hello", F::None, false},
      {"5\r\nhello\r\n0\r\nX: 1\r\n", "hello", F::None, false},
      // Sizes that are not digits alone
      {"\r\nhello\r\n", "", F::ChunkSize},
      {"g\r\n", "", F::ChunkSize},
      {"-1\r\n", "", F::ChunkSize},
      {"+5\r\nhello\r\n", "", F::ChunkSize},
      {" 5\r\nhello\r\n", "", F::ChunkSize},
      {"5 \r\nhello\r\n", "", F::ChunkSize},
      {"0x5\r\nhello\r\n", "", F::ChunkSize},
      {"5_0\r\nhello\r\n", "", F::ChunkSize},
      {"0000000000000005\r\nhello\r\n", "", F::ChunkSize},
      {"fffffffffffffffff\r\n", "", F::ChunkSize},
      // Line ends of which two recipients make two things
      {"5\nhello\r\n0\r\n\r\n", "", F::ChunkSize},
      {"5\rhello\r\n0\r\n\r\n", "", F::ChunkSize},
      {"5;a\nhello\r\n", "", F::ChunkSize},
      {"5;a\rb\r\nhello\r\n", "", F::ChunkSize},
      {std::string("5;\0\r\nhello\r\n", 12), "", F::ChunkSize},
      {"5\r\nhelloX\r\n0\r\n\r\n", "", F::ChunkSize},
      {"5\r\nhello\n0\r\n\r\n", "", F::ChunkSize},
      {"5\r\nhello\rX", "", F::ChunkSize},
      {"5\r\nhello0\r\n\r\n", "", F::ChunkSize},
      {"0\r\n\n", "", F::Trailers},
      {"0\r\n\rX", "", F::Trailers},
      {"0\r\n\nX: 1\r\n\r\n", "", F::Trailers},
  };
  return all;
}

TEST(Http1Body, DecodesOrRefusesChunks) {
  for (const Case& test : chunkedCases()) {
    const Decoded decoded = decode(Framing::Chunked, 0, test.input, test.input.size());
    EXPECT_EQ(http1FaultName(decoded.fault), http1FaultName(test.fault)) << test.input;
    if (test.fault != Http1Fault::None) continue;
    EXPECT_EQ(decoded.content, test.content) << test.input;
    EXPECT_EQ(decoded.done, test.done) << test.input;
  }
}

TEST(Http1Body, MeansTheSameInPiecesOfAnySize) {
  for (const Case& test : chunkedCases()) {
    const Decoded whole = decode(Framing::Chunked, 0, test.input, test.input.size());
    for (size_t piece = 1; piece < test.input.size(); ++piece) {
      for (size_t take : {SIZE_MAX, size_t{1}}) {
        const Decoded decoded = decode(Framing::Chunked, 0, test.input, piece, take);
        if (whole.fault != Http1Fault::None) {
          EXPECT_EQ(decoded.fault, whole.fault) << test.input << piece;
        } else {
          EXPECT_EQ(decoded, whole) << test.input << piece;
        }
      }
    }
  }
}

TEST(Http1Body, LeavesWhatFollowsTheBody) {
  const Decoded chunked = decode(Framing::Chunked, 0, "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1", 1000);
  EXPECT_TRUE(chunked.done);
  EXPECT_EQ(chunked.left_over, 14u);
  const Decoded length = decode(Framing::Length, 3, "abcGET", 1000);
  EXPECT_EQ(length.content, "abc");
  EXPECT_EQ(length.left_over, 3u);
  EXPECT_TRUE(decode(Framing::None, 0, "GET", 3).done);
  EXPECT_TRUE(decode(Framing::Length, 0, "GET", 3).done);
}

TEST(Http1Body, HandsOverTheTrailerSectionWithItsEnd) {
  const std::string input = "0\r\nX: 1\r\nY: 2\r\n\r\n";
  EXPECT_EQ(decode(Framing::Chunked, 0, input, 100).trailers, "X: 1\r\nY: 2\r\n\r\n");
  EXPECT_EQ(decode(Framing::Chunked, 0, input, 1).trailers, "X: 1\r\nY: 2\r\n\r\n");
  EXPECT_EQ(decode(Framing::Chunked, 0, "0\r\n\r\n", 1).trailers, "");
}

TEST(Http1Body, CountsTheExtensionsOfAllChunksTogether) {
  const auto body = [](size_t chunks, size_t bytes) {
    std::string text;
    for (size_t i = 0; i < chunks; ++i) text += "1;" + std::string(bytes - 1, 'e') + "\r\na\r\n";
    return text + "0\r\n\r\n";
  };
  for (size_t piece : {size_t{1}, size_t{7}, SIZE_MAX}) {
    EXPECT_EQ(decode(Framing::Chunked, 0, body(1, 4096), piece).fault, Http1Fault::None);
    EXPECT_EQ(decode(Framing::Chunked, 0, body(1, 4097), piece).fault, Http1Fault::ChunkExtensions);
    EXPECT_EQ(decode(Framing::Chunked, 0, body(16, 256), piece).fault, Http1Fault::None);
    EXPECT_EQ(decode(Framing::Chunked, 0, body(17, 256), piece).fault, Http1Fault::ChunkExtensions);
  }
}

TEST(Http1Body, LimitsTrailersHoweverTheyCome) {
  const std::string large = "0\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  for (size_t piece : {size_t{1}, size_t{1000}, large.size()}) {
    EXPECT_EQ(decode(Framing::Chunked, 0, large, piece).fault, Http1Fault::Trailers) << piece;
  }
  const std::string fits = "0\r\nX: " + std::string(8000, 'x') + "\r\n\r\n";
  for (size_t piece : {size_t{1}, size_t{1000}, fits.size()}) {
    EXPECT_TRUE(decode(Framing::Chunked, 0, fits, piece).done) << piece;
  }
}

TEST(Http1Body, HoldsTheLargestLengthsWithoutOverflow) {
  Http1BodyDecoder decoder;
  decoder.begin(Framing::Length, 9'999'999'999'999'999'999U);
  EXPECT_EQ(decoder.look("abc").content_bytes, 3u);
  decoder.take(3);
  EXPECT_EQ(decoder.left(), 9'999'999'999'999'999'996U);
  decoder.begin(Framing::Chunked, 0);
  EXPECT_EQ(decoder.look("fffffffffffffff\r\nabc").content_bytes, 3u);
  EXPECT_EQ(decoder.left(), 0xfffffffffffffffU);
}

TEST(Http1Body, LastsUntilTheEndOfInputWhenNothingElseSays) {
  Http1BodyDecoder decoder;
  decoder.begin(Framing::UntilClose, 0);
  EXPECT_EQ(decoder.look("abc").content_bytes, 3u);
  decoder.take(3);
  EXPECT_FALSE(decoder.done());
  decoder.endOfInput();
  EXPECT_TRUE(decoder.done());
  decoder.begin(Framing::Length, 5);
  decoder.endOfInput();
  EXPECT_FALSE(decoder.done()) << "it was cut short";
}

}  // namespace
}  // namespace flamegate::proxy
