#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http1_parser.h"

namespace flamegate::proxy {
namespace {

using State = ParseResult::State;

struct Outcome {
  ParseResult result;
  ResponseHead head;
};

Outcome parse(const std::string& bytes, Method method = Method::Get, Http1Limits limits = {}) {
  Outcome out;
  out.result = parseResponseHead(bytes, 0, method, limits, out.head);
  return out;
}

std::string namesLeft(const FieldList& fields) {
  std::string names;
  for (const Field& field : fields) {
    if (field.removed()) continue;
    if (!names.empty()) names += ' ';
    names += field.name();
  }
  return names;
}

std::string ok(const std::string& fields) { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n"; }

struct Case {
  std::string bytes;
  Http1Fault fault;
};

const std::vector<Case>& cases() {
  using F = Http1Fault;
  static const std::vector<Case> all = {
      {"HTTP/1.1 200 OK\r\n\r\n", F::None},
      {"HTTP/1.0 200 OK\r\n\r\n", F::None},
      {"HTTP/1.1 200 \r\n\r\n", F::None},
      {"HTTP/1.1 200\r\n\r\n", F::None},
      {"HTTP/1.1 299 tab\tand \xe9\r\n\r\n", F::None},
      {"HTTP/1.1 999 x\r\n\r\n", F::None},
      {"HTTP/1.1 099 x\r\n\r\n", F::StatusLine},
      {"HTTP/1.1 20 OK\r\n\r\n", F::StatusLine},
      {"HTTP/1.1 2000 OK\r\n\r\n", F::StatusLine},
      {"HTTP/1.1 2x0 OK\r\n\r\n", F::StatusLine},
      {"HTTP/1.1  200 OK\r\n\r\n", F::StatusLine},
      {"HTTP/2 200 OK\r\n\r\n", F::StatusLine},
      {"HTTP/1.1\t200 OK\r\n\r\n", F::StatusLine},
      {"http/1.1 200 OK\r\n\r\n", F::StatusLine},
      {"HTTP/1.1 200 O\x01K\r\n\r\n", F::StatusLine},
      {"HTTP/1.1 200 OK\n\n", F::StatusLine},
      {"<html>\r\n\r\n", F::StatusLine},
      {ok("X : 1\r\n"), F::FieldName},
      {ok("X: 1\r\n 2\r\n"), F::Folded},
      {ok("X: 1\nY: 2\r\n"), F::LineEnd},
      {ok("Content-Length: 5\r\nContent-Length: 5\r\n"), F::None},
      {ok("Content-Length: 5\r\nContent-Length: 6\r\n"), F::ContentLength},
      {ok("Content-Length: 5\r\nContent-Length: 6\r\nContent-Length: 6\r\n"), F::ContentLength},
      {ok("Content-Length: x\r\n"), F::ContentLength},
      {ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), F::LengthAndEncoding},
      {ok("Transfer-Encoding: chunked\r\n"), F::None},
      {ok("Transfer-Encoding:\r\n"), F::TransferEncoding},
      {ok("Transfer-Encoding: gzip, chunked\r\n"), F::TransferCoding},
      {ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), F::TransferEncoding},
  };
  return all;
}

TEST(ResponseHead, IsAcceptedOrRefusedForTheRightReason) {
  for (const Case& test : cases()) {
    const Outcome out = parse(test.bytes);
    EXPECT_EQ(http1FaultName(out.result.fault), http1FaultName(test.fault)) << test.bytes;
    EXPECT_EQ(out.result.state, test.fault == Http1Fault::None ? State::Complete : State::Bad)
        << test.bytes;
  }
}

TEST(ResponseHead, MeansTheSameWhenItComesByteByByte) {
  for (const Case& test : cases()) {
    const Outcome whole = parse(test.bytes);
    ResponseHead head;
    ParseResult result;
    for (size_t size = 1; size <= test.bytes.size() && result.state == State::Incomplete; ++size) {
      result = parseResponseHead(test.bytes.substr(0, size), size - 1, Method::Get, {}, head);
    }
    EXPECT_EQ(result.state, whole.result.state) << test.bytes;
    EXPECT_EQ(http1FaultName(result.fault), http1FaultName(whole.result.fault)) << test.bytes;
    EXPECT_EQ(result.head_bytes, whole.result.head_bytes) << test.bytes;
    EXPECT_EQ(head.fields.size(), whole.head.fields.size()) << test.bytes;
  }
}

TEST(ResponseHead, TellsStatusVersionAndReason) {
  const std::string bytes = "HTTP/1.0 404 Not here\tat all\r\n\r\n";
  const Outcome out = parse(bytes);
  EXPECT_EQ(out.head.status, 404);
  EXPECT_EQ(out.head.minor_version, 0);
  EXPECT_EQ(out.head.reason, "Not here\tat all");
  EXPECT_EQ(parse("HTTP/1.1 200\r\n\r\n").head.reason, "");
}

// RFC 9112 §6.3
TEST(ResponseHead, KnowsHowItsBodyEnds) {
  const std::string length = "Content-Length: 5\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(parse(ok(length)).head.framing, Framing::Length);
  EXPECT_EQ(parse(ok(length)).head.content_length, 5u);
  EXPECT_EQ(parse(ok("Content-Length: 0\r\n")).head.framing, Framing::None);
  EXPECT_EQ(parse(ok(chunked)).head.framing, Framing::Chunked);
  EXPECT_EQ(parse(ok("")).head.framing, Framing::UntilClose);
  EXPECT_EQ(parse(ok(length), Method::Head).head.framing, Framing::None);
  EXPECT_EQ(parse(ok(chunked), Method::Head).head.framing, Framing::None);
  EXPECT_EQ(parse(ok(""), Method::Head).head.framing, Framing::None);
  for (const char* status : {"100", "103", "204", "304"}) {
    const std::string line = std::string("HTTP/1.1 ") + status + " x\r\n";
    EXPECT_EQ(parse(line + length + "\r\n").head.framing, Framing::None) << status;
    EXPECT_EQ(parse(line + "\r\n").head.framing, Framing::None) << status;
  }
}

TEST(ResponseHead, KeepsAConnectionOnlyWhenItsEndIsKnown) {
  const std::string length = "Content-Length: 5\r\n";
  EXPECT_TRUE(parse(ok(length)).head.keep_alive);
  EXPECT_FALSE(parse(ok("")).head.keep_alive);
  EXPECT_FALSE(parse(ok(length + "Connection: close\r\n")).head.keep_alive);
  EXPECT_FALSE(parse("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(parse("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n")
                  .head.keep_alive);
  EXPECT_FALSE(
      parse("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n")
          .head.keep_alive);
}

TEST(ResponseHead, KeepsOneOfEqualLengthsAndNoneWhereForbidden) {
  const std::string twice = "Content-Length: 5\r\nA: 1\r\nContent-Length: 5\r\n";
  EXPECT_EQ(namesLeft(parse(ok(twice)).head.fields), "Content-Length A");
  EXPECT_EQ(namesLeft(parse("HTTP/1.1 204 x\r\n" + twice + "\r\n").head.fields), "A");
  EXPECT_EQ(namesLeft(parse("HTTP/1.1 103 x\r\n" + twice + "\r\n").head.fields), "A");
  EXPECT_EQ(namesLeft(parse("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n").head.fields),
            "Content-Length");
}

TEST(ResponseHead, DropsWhatBelongsToTheConnection) {
  const std::string bytes =
      ok("Connection: X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 1\r\nUpgrade: h2c\r\nTransfer-Encoding: "
         "chunked\r\n"
         "Proxy-Connection: x\r\nServer: s\r\n");
  EXPECT_EQ(namesLeft(parse(bytes).head.fields), "Server");
}

TEST(ResponseHead, UpgradesWith101Alone) {
  const std::string fields = "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  const std::string switched = "HTTP/1.1 101 x\r\n" + fields;
  EXPECT_EQ(parse(switched).head.upgrade, "websocket");
  EXPECT_FALSE(parse(switched).head.interim());
  EXPECT_EQ(parse("HTTP/1.1 200 x\r\n" + fields).head.upgrade, "");
  EXPECT_TRUE(parse("HTTP/1.1 103 x\r\n\r\n").head.interim());
}

TEST(ResponseHead, IsRefusedOverTheLimits) {
  Http1Limits limits;
  limits.head_bytes_max = 40;
  EXPECT_EQ(parse(ok("X: " + std::string(16, 'x') + "\r\n"), Method::Get, limits).result.state,
            State::Complete);
  EXPECT_EQ(parse(ok("X: " + std::string(17, 'x') + "\r\n"), Method::Get, limits).result.fault,
            Http1Fault::HeadTooLarge);
  limits.fields_max = 1;
  EXPECT_EQ(parse(ok("A: 1\r\nB: 1\r\n"), Method::Get, limits).result.fault,
            Http1Fault::TooManyFields);
}

// ---- Repair -------------------------------------------------------------------------------------

struct Repair {
  std::string sent;
  std::string strict;
};

TEST(RepairResponseHead, BringsWhatServersSendIntoStrictForm) {
  const Repair repairs[] = {
      {"HTTP/1.1 200 OK\nA: 1\n\nbody", "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nA: 1\n\r\nbody", "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\n\t3\r\nB: 4\r\n\r\n",
       "HTTP/1.1 200 OK\r\nA: 1 2 3\r\nB: 4\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nA: 1\r2\r\n\r\n", "HTTP/1.1 200 OK\r\nA: 1 2\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nA: http://b: c : d\r\n\r\n",
       "HTTP/1.1 200 OK\r\nA: http://b: c : d\r\n\r\n"},
  };
  for (const Repair& repair : repairs) {
    size_t head_bytes = 0;
    EXPECT_EQ(repairResponseHead(repair.sent, head_bytes), repair.strict);
    EXPECT_TRUE(std::string_view(repair.sent).substr(head_bytes).empty() ||
                std::string_view(repair.sent).substr(head_bytes) == "body")
        << repair.sent;
    EXPECT_EQ(parse(repair.strict).result.state, State::Complete) << repair.sent;
  }
}

TEST(RepairResponseHead, WaitsForTheWholeHead) {
  size_t head_bytes = 0;
  const std::string sent = "HTTP/1.1 200 OK\nA: 1\n\n";
  for (size_t size = 0; size < sent.size(); ++size) {
    EXPECT_EQ(repairResponseHead(sent.substr(0, size), head_bytes), "") << size;
  }
}

TEST(RepairResponseHead, MakesNoGoodHeadOfAnAmbiguousOne) {
  for (const std::string& sent : {ok("Content-Length: 5\r\nTransfer-Encoding : chunked\r\n"),
                                  ok("Content-Length: 5\r\nContent-Length : 6\r\n"),
                                  ok("no colon\r\n"), ok("A: \x01\r\n"), ok(": 1\r\n")}) {
    size_t head_bytes = 0;
    EXPECT_EQ(parse(repairResponseHead(sent, head_bytes)).result.state, State::Bad) << sent;
  }
}

// ---- Trailers -----------------------------------------------------------------------------------

TEST(Trailers, LoseWhatMayNotComeThere) {
  FieldList fields;
  const std::string section =
      "X-Sum: 1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: b\r\nAuthorization: "
      "x\r\n"
      "Cookie: a\r\nSet-Cookie: a\r\nX-Forwarded-For: 1\r\nflamegate_ack: v=1\r\nServer-Timing: "
      "a\r\n\r\n";
  EXPECT_EQ(parseTrailers(section, {}, fields), Http1Fault::None);
  EXPECT_EQ(namesLeft(fields), "X-Sum Server-Timing");
}

TEST(Trailers, AreRefusedWhenMalformedOrTooLarge) {
  FieldList fields;
  Http1Limits limits;
  limits.head_bytes_max = 30;
  EXPECT_EQ(parseTrailers("A : 1\r\n\r\n", {}, fields), Http1Fault::Trailers);
  EXPECT_EQ(parseTrailers("A: 1\nB: 2\r\n\r\n", {}, fields), Http1Fault::Trailers);
  EXPECT_EQ(parseTrailers("A: 1\r\n 2\r\n\r\n", {}, fields), Http1Fault::Trailers);
  EXPECT_EQ(parseTrailers("A: 1\r\n", {}, fields), Http1Fault::Trailers);
  EXPECT_EQ(parseTrailers("A: " + std::string(30, 'x') + "\r\n\r\n", limits, fields),
            Http1Fault::Trailers);
  EXPECT_EQ(parseTrailers("\r\n", {}, fields), Http1Fault::None);
  EXPECT_EQ(fields.size(), 0u);
}

}  // namespace
}  // namespace flamegate::proxy
