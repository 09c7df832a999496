#include <string>

#include <gtest/gtest.h>

#include "proxy/http/http1_body.h"
#include "proxy/http/http1_parser.h"
#include "proxy/http/http1_writer.h"

namespace flamegate::proxy {
namespace {

using State = ParseResult::State;

std::string written(const RequestHead& head) {
  BufferPool pool;
  Buffer out(pool);
  writeRequestHead(head, out);
  return std::string(out.view());
}

std::string written(const ResponseHead& head, ResponseConnection connection = {}) {
  BufferPool pool;
  Buffer out(pool);
  writeResponseHead(head, connection, out);
  return std::string(out.view());
}

std::string requestAfterParsing(const std::string& bytes) {
  RequestHead head;
  EXPECT_EQ(parseRequestHead(bytes, 0, {}, head).state, State::Complete) << bytes;
  return written(head);
}

std::string responseAfterParsing(const std::string& bytes, ResponseConnection connection = {}) {
  ResponseHead head;
  EXPECT_EQ(parseResponseHead(bytes, 0, Method::Get, {}, head).state, State::Complete) << bytes;
  return written(head, connection);
}

TEST(Http1Writer, KeepsEveryByteOfWhatNobodyTouched) {
  for (const std::string& bytes : {
           std::string(
               "GET /a?b HTTP/1.1\r\nhOST:a\r\nX-Y:   spaced \t\r\nx-y:\r\nACCEPT:\t*/*\r\n\r\n"),
           std::string("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\n"),
           std::string("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
       }) {
    EXPECT_EQ(requestAfterParsing(bytes), bytes);
  }
  const std::string response =
      "HTTP/1.1 203 Odd  reason\r\nserver:x\r\nSet-Cookie: a=1 \r\nset-cookie: "
      "b\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(responseAfterParsing(response), response);
}

TEST(Http1Writer, WritesTheSameAgainAfterAnotherRound) {
  for (const std::string& bytes : {
           std::string("GET http://b/x HTTP/1.1\r\nHost: a\r\nConnection: close, X\r\nX: 1\r\nY: "
                       "2\r\n\r\n"),
           std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"),
           std::string(
               "GET / HTTP/1.1\r\nUpgrade: websocket\r\nHost: a\r\nConnection: upgrade\r\n\r\n"),
           std::string("GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n"),
       }) {
    const std::string once = requestAfterParsing(bytes);
    EXPECT_EQ(requestAfterParsing(once), once);
  }
}

TEST(Http1Writer, WritesWhatTheConnectionFieldsSaidAnew) {
  EXPECT_EQ(
      requestAfterParsing("POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nA: 1\r\n\r\n"),
      "POST / HTTP/1.1\r\nHost: a\r\nA: 1\r\n\r\n");
  EXPECT_EQ(requestAfterParsing(
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: a\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(
      requestAfterParsing("GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\nHost: a\r\n\r\n"),
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
  EXPECT_EQ(requestAfterParsing("GET http://b?q HTTP/1.1\r\nA: 1\r\nHost: a\r\nB: 2\r\n\r\n"),
            "GET /?q HTTP/1.1\r\nA: 1\r\nHost: b\r\nB: 2\r\n\r\n");
}

TEST(Http1Writer, LeavesOutRemovedLinesAndPutsOwnOnesWhereTheyStand) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n";
  RequestHead head;
  parseRequestHead(bytes, 0, {}, head);
  head.fields.remove(1);
  head.fields.setValue(3, "changed");
  head.fields.add("X-Own", "5");
  EXPECT_EQ(written(head),
            "GET / HTTP/1.1\r\nHost: a\r\nB: 2\r\nC: changed\r\nD: 4\r\nX-Own: 5\r\n\r\n");
}

TEST(Http1Writer, TellsTheClientWhatTheConnectionIsGoingToBe) {
  const std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const std::string plain = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  EXPECT_EQ(responseAfterParsing(bytes), plain + "\r\n");
  EXPECT_EQ(responseAfterParsing(bytes, {.close = true}), plain + "Connection: close\r\n\r\n");
  EXPECT_EQ(responseAfterParsing(bytes, {.http10 = true}),
            plain + "Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(responseAfterParsing("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", {.close = true}),
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  EXPECT_EQ(responseAfterParsing("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
            "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
}

TEST(Http1Writer, WritesALargestHeadWithinItsRoom) {
  ResponseHead head;
  const std::string value(30'000, 'v');
  head.reason = value;
  head.framing = Framing::Chunked;
  for (size_t i = 0; i < 20; ++i) head.fields.add("X-Long", value);
  EXPECT_EQ(written(head).size(), 15 + value.size() + 20 * (value.size() + 10) + 28 + 2);
}

TEST(Http1Writer, AppendsBehindWhatTheBufferHolds) {
  BufferPool pool;
  Buffer out(pool);
  out.append("before");
  ResponseHead head;
  head.reason = "OK";
  writeResponseHead(head, {}, out);
  EXPECT_EQ(out.view(), "beforeHTTP/1.1 200 OK\r\n\r\n");
}

TEST(Http1Writer, WritesChunksThatTheDecoderReads) {
  for (uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{10}, uint64_t{16},
                        uint64_t{255}, uint64_t{4096}, uint64_t{0xabcdef0123456}}) {
    char line[20];
    const std::string_view text(line, writeChunkLine(size, line));
    EXPECT_LE(text.size(), 18u);
    Http1BodyDecoder decoder;
    decoder.begin(Framing::Chunked, 0);
    const Http1BodyDecoder::Step step = decoder.look(text);
    EXPECT_EQ(step.fault, Http1Fault::None);
    EXPECT_EQ(step.framing_bytes, text.size());
    EXPECT_EQ(decoder.left(), size);
  }
  char line[20];
  EXPECT_EQ(writeChunkLine(UINT64_MAX, line), 18u);
}

TEST(Http1Writer, EndsAChunkedBodyWithItsTrailers) {
  BufferPool pool;
  Buffer out(pool);
  writeChunkedEnd(nullptr, out);
  EXPECT_EQ(out.view(), "0\r\n\r\n");
  out.clear();
  FieldList trailers;
  trailers.add("X-Sum", "1");
  trailers.add("X-Gone", "2");
  trailers.remove(1);
  writeChunkedEnd(&trailers, out);
  EXPECT_EQ(out.view(), "0\r\nX-Sum: 1\r\n\r\n");
}

TEST(Http1Writer, KnowsThePhrasesOfTheStatusesItUses) {
  EXPECT_EQ(reasonPhrase(200), "OK");
  EXPECT_EQ(reasonPhrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reasonPhrase(299), "");
}

TEST(Http1Writer, TellsValuesThatCannotStandInAField) {
  EXPECT_TRUE(isFieldValueSafe("a b\tc \xff"));
  EXPECT_FALSE(isFieldValueSafe("a\r\nX: 1"));
  EXPECT_FALSE(isFieldValueSafe("a\n"));
  EXPECT_FALSE(isFieldValueSafe(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace flamegate::proxy
