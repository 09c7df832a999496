#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http1_parser.h"

namespace flamegate::proxy {
namespace {

using State = ParseResult::State;

// The names of the fields that are left, joined by blanks.
std::string namesLeft(const FieldList& fields) {
  std::string names;
  for (const Field& field : fields) {
    if (field.removed()) continue;
    if (!names.empty()) names += ' ';
    names += field.name();
  }
  return names;
}

// All that a parse says, as one text to compare.
std::string describe(const ParseResult& result, const RequestHead& head) {
  if (result.state == State::Incomplete) return "incomplete";
  if (result.state == State::Bad) return std::string(http1FaultName(result.fault));
  std::string text(head.method_text);
  text.append(" ").append(head.target).append(" 1.").append(std::to_string(head.minor_version));
  text.append(" authority=").append(head.authority);
  text.append(" framing=").append(std::to_string(static_cast<int>(head.framing)));
  text.append(" length=").append(std::to_string(head.content_length));
  text.append(head.keep_alive ? " keep" : " close").append(head.expects_continue ? " expects" : "");
  text.append(head.absolute_form ? " absolute" : "").append(" upgrade=").append(head.upgrade);
  for (const Field& field : head.fields) {
    text.append("\n").append(field.removed() ? "-" : "+").append(field.name()).append("=");
    text.append(field.value());
  }
  return text + "\n" + std::to_string(result.head_bytes);
}

std::string parseAtOnce(const std::string& bytes, const Http1Limits& limits) {
  RequestHead head;
  const ParseResult result = parseRequestHead(bytes, 0, limits, head);
  return describe(result, head);
}

// As a connection does that receives one byte after the other, each time in another block.
std::string parseByteByByte(const std::string& bytes, const Http1Limits& limits) {
  RequestHead head;
  ParseResult result;
  size_t seen = 0;
  for (size_t size = 1; size <= bytes.size(); ++size) {
    const std::string block = bytes.substr(0, size);
    result = parseRequestHead(block, seen, limits, head);
    if (result.state != State::Incomplete) return describe(result, head);
    seen = size;
  }
  return describe(result, head);
}

std::string get(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string post(const std::string& fields) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

struct Case {
  std::string bytes;
  Http1Fault fault;  // None: the head is accepted
};

const std::vector<Case>& cases() {
  using F = Http1Fault;
  static const std::vector<Case> all = {
      // Request lines (RFC 9112 §3)
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET / HTTP/1.0\r\n\r\n", F::None},
      {"GET / HTTP/1.9\r\nHost: a\r\n\r\n", F::None},
      {"\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {std::string("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 28), F::RequestLine},
      {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET /\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET\r\nHost: a\r\n\r\n", F::RequestLine},
      {"/ HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / HTTP/1.1\nHost: a\n\n", F::LineEnd},
      {"GET / HTTP/1.1\rHost: a\r\r\n\r\n", F::LineEnd},
      {"GET / HTTP/11\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / HTTP/1.x\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / ICAP/1.1\r\nHost: a\r\n\r\n", F::RequestLine},
      {"GET / 1\n\n\nHost", F::RequestLine},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", F::Version},
      {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", F::Version},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", F::Version},
      {"purge / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {std::string(32, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {std::string(33, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", F::Method},
      // Targets (§3.2)
      {"GET /a?b=c;d&e=%41%zz HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET HTTPS://b:8443 HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"GET ftp://b/x HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", F::Host},
      {"GET http://user@b/ HTTP/1.1\r\nHost: a\r\n\r\n", F::Host},
      {"GET http://b:99999/ HTTP/1.1\r\nHost: a\r\n\r\n", F::Host},
      {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", F::None},
      {"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      {"GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n", F::Target},
      // Hosts (§3.2)
      {"GET / HTTP/1.1\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", F::Host},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", F::Host},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", F::Host},
      {"GET http://b/ HTTP/1.1\r\n\r\n", F::Host},
      {"GET http://b/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", F::Host},
      // Field lines (§5)
      {get("X: 1\r\n"), F::None},
      {get("X:1\r\nY: \t 2 \t\r\nZ:\r\n"), F::None},
      {get("X: \xff\x80\r\n"), F::None},
      {get("X : 1\r\n"), F::FieldName},
      {get("X\t: 1\r\n"), F::FieldName},
      {get("Transfer-Encoding : chunked\r\n"), F::FieldName},
      {get(": 1\r\n"), F::FieldName},
      {get("X\r\n"), F::FieldName},
      {get("X 1\r\n"), F::FieldName},
      {get("X\x01: 1\r\n"), F::FieldName},
      {get("X\xc3\xa9: 1\r\n"), F::FieldName},
      {get("X(: 1\r\n"), F::FieldName},
      {get(std::string("X\0Y: 1\r\n", 8)), F::FieldName},
      {get(std::string("X: a\0b\r\n", 8)), F::FieldValue},
      {get("X: a\x7f\r\n"), F::FieldValue},
      {get("X: a\x1b[0m\r\n"), F::FieldValue},
      {get("X: a\nY: b\r\n"), F::LineEnd},
      {get("X: a\rY: b\r\n"), F::LineEnd},
      {get("X: a\r\r\n"), F::LineEnd},
      {get("X: a\n"), F::LineEnd},
      {get("X: a\r\n b\r\n"), F::Folded},
      {get("X: a\r\n\tb\r\n"), F::Folded},
      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", F::Folded},
      {"GET / HTTP/1.1\r\nHost: a\r\n\nX: 1\r\n\r\n", F::LineEnd},
      {"GET / HTTP/1.1\r\nHost: a\r\n\rX: 1\r\n\r\n", F::LineEnd},
      // Content-Length (§6.3)
      {post("Content-Length: 5\r\n"), F::None},
      {post("Content-Length: 0\r\n"), F::None},
      {post("Content-Length: 005\r\n"), F::None},
      {post("Content-Length: 9999999999999999999\r\n"), F::None},
      {post("Content-Length: 99999999999999999999\r\n"), F::ContentLength},
      {post("Content-Length: +5\r\n"), F::ContentLength},
      {post("Content-Length: -5\r\n"), F::ContentLength},
      {post("Content-Length: 0x5\r\n"), F::ContentLength},
      {post("Content-Length: 5 5\r\n"), F::ContentLength},
      {post("Content-Length: 5, 5\r\n"), F::ContentLength},
      {post("Content-Length:\r\n"), F::ContentLength},
      {post("Content-Length: 5\r\nContent-Length: 6\r\n"), F::ContentLength},
      {post("Content-Length: 5\r\nContent-Length: 5\r\n"), F::ContentLength},
      {post("Content-Length: 5\r\ncontent-length: 5\r\nCONTENT-LENGTH: 5\r\n"), F::ContentLength},
      // Transfer-Encoding (§6.1), and both: CL.TE and TE.CL
      {post("Transfer-Encoding: chunked\r\n"), F::None},
      {post("Transfer-Encoding: CHUNKED\r\n"), F::None},
      {post("Transfer-Encoding:\tchunked \r\n"), F::None},
      {post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), F::LengthAndEncoding},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), F::LengthAndEncoding},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), F::LengthAndEncoding},
      // TE.TE: forms of which one recipient makes `chunked` and another does not
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: identity\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: gzip\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding:\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: xchunked\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunkedx\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: \"chunked\"\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunked;q=1\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunked, chunked\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunked, gzip\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: chunked,\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: ,chunked\r\n"), F::TransferEncoding},
      {post("Transfer-Encoding: gzip, chunked\r\n"), F::TransferCoding},
      {post("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       F::FieldValue},
      {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", F::TransferEncoding},
  };
  return all;
}

TEST(RequestHead, IsAcceptedOrRefusedForTheRightReason) {
  for (const Case& test : cases()) {
    RequestHead head;
    const ParseResult result = parseRequestHead(test.bytes, 0, {}, head);
    EXPECT_EQ(http1FaultName(result.fault), http1FaultName(test.fault)) << test.bytes;
    EXPECT_EQ(result.state, test.fault == Http1Fault::None ? State::Complete : State::Bad)
        << test.bytes;
    if (test.fault == Http1Fault::None) {
      EXPECT_EQ(result.head_bytes, test.bytes.size()) << test.bytes;
    }
  }
}

TEST(RequestHead, MeansTheSameWhenItComesByteByByte) {
  for (const Case& test : cases()) {
    EXPECT_EQ(parseByteByByte(test.bytes, {}), parseAtOnce(test.bytes, {})) << test.bytes;
  }
}

TEST(RequestHead, LeavesWhatFollowsIt) {
  const std::string bytes = get("X: 1\r\n") + "GET /next HTTP/1.1\r\n";
  RequestHead head;
  const ParseResult result = parseRequestHead(bytes, 0, {}, head);
  EXPECT_EQ(bytes.substr(result.head_bytes), "GET /next HTTP/1.1\r\n");
}

TEST(RequestHead, IsIncompleteAtEveryPrefix) {
  const std::string bytes = "POST http://b/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
  for (size_t size = 0; size < bytes.size(); ++size) {
    RequestHead head;
    EXPECT_EQ(parseRequestHead(bytes.substr(0, size), 0, {}, head).state, State::Incomplete)
        << size;
  }
}

TEST(RequestHead, RefusesATooLongTargetBeforeItsEndHasCome) {
  Http1Limits limits;
  limits.target_bytes_max = 10;
  EXPECT_EQ(parseAtOnce("GET /234567890 HTTP/1.1\r\nHost: a\r\n\r\n", limits).substr(0, 16),
            "GET /234567890 1");
  EXPECT_EQ(parseAtOnce("GET /2345678901 HTTP/1.1\r\nHost: a\r\n\r\n", limits), "target-too-long");
  EXPECT_EQ(parseAtOnce("GET /2345678901", limits), "target-too-long");
  EXPECT_EQ(http1FaultStatus(Http1Fault::TargetTooLong), 414);
}

TEST(RequestHead, RefusesAHeadOverTheLimitHoweverItComes) {
  Http1Limits limits;
  limits.head_bytes_max = 100;
  const std::string fits = get("X: " + std::string(100 - get("X: \r\n").size(), 'x') + "\r\n");
  ASSERT_EQ(fits.size(), 100u);
  EXPECT_EQ(parseAtOnce(fits, limits).substr(0, 7), "GET / 1");
  EXPECT_EQ(parseByteByByte(fits, limits), parseAtOnce(fits, limits));
  const std::string large = get("X: " + std::string(101 - get("X: \r\n").size(), 'x') + "\r\n");
  EXPECT_EQ(parseAtOnce(large, limits), "head-too-large");
  EXPECT_EQ(parseByteByByte(large, limits), "head-too-large");
  EXPECT_EQ(parseByteByByte("GET /" + std::string(200, 'a'), limits), "target-too-long");
  EXPECT_EQ(http1FaultStatus(Http1Fault::HeadTooLarge), 431);
}

TEST(RequestHead, RefusesOneFieldTooMany) {
  Http1Limits limits;
  limits.fields_max = 3;
  EXPECT_EQ(parseAtOnce(get("A: 1\r\nB: 2\r\n"), limits).substr(0, 7), "GET / 1");
  EXPECT_EQ(parseAtOnce(get("A: 1\r\nB: 2\r\nC: 3\r\n"), limits), "too-many-fields");
  limits.fields_max = 1'000'000;
  std::string fields;
  for (size_t i = 0; i + 1 < kFieldsMax; ++i) fields += "A: 1\r\n";
  EXPECT_EQ(parseAtOnce(get(fields), limits).substr(0, 7), "GET / 1");
  EXPECT_EQ(parseAtOnce(get(fields + "A: 1\r\n"), limits), "too-many-fields");
  EXPECT_EQ(http1FaultStatus(Http1Fault::TooManyFields), 431);
}

TEST(RequestHead, AnswersEachFaultWithItsStatus) {
  EXPECT_EQ(http1FaultStatus(Http1Fault::Version), 505);
  EXPECT_EQ(http1FaultStatus(Http1Fault::TransferCoding), 501);
  EXPECT_EQ(http1FaultStatus(Http1Fault::Method), 501);
  EXPECT_EQ(http1FaultStatus(Http1Fault::LengthAndEncoding), 400);
  EXPECT_EQ(http1FaultName(Http1Fault::None), "none");
  EXPECT_EQ(http1FaultName(Http1Fault::Trailers), "trailers");
}

RequestHead parsed(const std::string& bytes) {
  RequestHead head;
  const ParseResult result = parseRequestHead(bytes, 0, {}, head);
  EXPECT_EQ(result.state, State::Complete) << http1FaultName(result.fault) << bytes;
  return head;
}

TEST(RequestHead, KnowsTheCommonMethods) {
  const std::pair<std::string, Method> methods[] = {
      {"GET", Method::Get},     {"HEAD", Method::Head},       {"POST", Method::Post},
      {"PUT", Method::Put},     {"DELETE", Method::Delete},   {"PATCH", Method::Patch},
      {"TRACE", Method::Trace}, {"OPTIONS", Method::Options}, {"get", Method::Other},
      {"PURGE", Method::Other}, {"GETS", Method::Other},      {"G", Method::Other},
  };
  for (const auto& [text, method] : methods) {
    const std::string bytes = text + " / HTTP/1.1\r\nHost: a\r\n\r\n";
    EXPECT_EQ(parsed(bytes).method, method) << text;
  }
}

TEST(RequestHead, PutsTheAuthorityOfAnAbsoluteTargetInTheHostField) {
  const std::string bytes = "GET http://B:81/x?y=http://c/ HTTP/1.1\r\nHost: a\r\n\r\n";
  const RequestHead head = parsed(bytes);
  EXPECT_TRUE(head.absolute_form);
  EXPECT_EQ(head.target, "/x?y=http://c/");
  EXPECT_EQ(head.authority, "B:81");
  EXPECT_EQ(head.fields.findSingle(HeaderId::Host), "B:81");
}

TEST(RequestHead, GivesAnAbsoluteTargetWithoutPathItsSlash) {
  const std::string bare = "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(parsed(bare).target, "/");
  const std::string query = "GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(parsed(query).path(), "/");
  EXPECT_EQ(parsed(query).query(), "q");
  const std::string options = "OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(parsed(options).target, "*");
}

TEST(RequestHead, KeepsAliveAfterVersionAndConnection) {
  const auto keepsAlive = [](const std::string& version, const std::string& connection) {
    const std::string bytes = "GET / " + version + "\r\nHost: a\r\n" + connection + "\r\n";
    return parsed(bytes).keep_alive;
  };
  EXPECT_TRUE(keepsAlive("HTTP/1.1", ""));
  EXPECT_FALSE(keepsAlive("HTTP/1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(keepsAlive("HTTP/1.1", "Connection: x, close\r\n"));
  EXPECT_FALSE(keepsAlive("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keepsAlive("HTTP/1.0", ""));
  EXPECT_TRUE(keepsAlive("HTTP/1.0", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(keepsAlive("HTTP/1.0", "Connection: keep-alive, close\r\n"));
}

TEST(RequestHead, DropsWhatBelongsToTheConnection) {
  const std::string bytes =
      get("Connection: keep-alive, X-Mine, ,x-other\r\nKeep-Alive: timeout=5\r\nProxy-Connection: "
          "close\r\n"
          "TE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\nX-Mine: 1\r\nX-Other: "
          "2\r\nX-MINE: 3\r\n"
          "Trailer: X\r\nAccept: */*\r\n");
  EXPECT_EQ(namesLeft(parsed(bytes).fields), "Host Trailer Accept");
}

TEST(RequestHead, LetsNobodyNameFramingOrHostAway) {
  const std::string bytes =
      post("Connection: host, content-length, transfer-encoding\r\nContent-Length: 5\r\n");
  const RequestHead head = parsed(bytes);
  EXPECT_EQ(namesLeft(head.fields), "Host Content-Length");
  EXPECT_EQ(head.content_length, 5u);
}

TEST(RequestHead, HidesTransferEncodingInItsFraming) {
  const std::string bytes = post("Transfer-Encoding: chunked\r\n");
  const RequestHead head = parsed(bytes);
  EXPECT_EQ(head.framing, Framing::Chunked);
  EXPECT_EQ(namesLeft(head.fields), "Host");
}

TEST(RequestHead, HasNoBodyToWaitForWhenItsLengthIsZero) {
  const std::string bytes = post("Content-Length: 0\r\n");
  const RequestHead head = parsed(bytes);
  EXPECT_EQ(head.framing, Framing::None);
  EXPECT_EQ(namesLeft(head.fields), "Host Content-Length");
}

TEST(RequestHead, UpgradesOnlyWhatConnectionNamesAndNeverToClearTextHttp2) {
  const auto upgradeOf = [](const std::string& version, const std::string& fields) {
    const std::string bytes = "GET / " + version + "\r\nHost: a\r\n" + fields + "\r\n";
    return std::string(parsed(bytes).upgrade);
  };
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n"), "websocket");
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\n"),
            "websocket");
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Upgrade: websocket\r\n"), "");
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Connection: upgrade\r\n"), "");
  EXPECT_EQ(upgradeOf("HTTP/1.0", "Connection: upgrade\r\nUpgrade: websocket\r\n"), "");
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Connection: upgrade\r\nUpgrade: h2c\r\n"), "");
  EXPECT_EQ(upgradeOf("HTTP/1.1", "Connection: upgrade, HTTP2-Settings\r\nUpgrade: H2C, x\r\n"),
            "");
}

TEST(RequestHead, ExpectsContinueOnlyInHttp11) {
  const std::string fields = "\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n";
  EXPECT_TRUE(parsed("PUT / HTTP/1.1" + fields).expects_continue);
  EXPECT_FALSE(parsed("PUT / HTTP/1.0" + fields).expects_continue);
  EXPECT_FALSE(parsed(get("Expect: other\r\n")).expects_continue);
}

TEST(RequestHead, IsFreshAfterAnEarlierOneInTheSameMemory) {
  RequestHead head;
  const std::string first =
      "POST http://b/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close, upgrade\r\n"
      "Upgrade: x\r\nExpect: 100-continue\r\n\r\n";
  const std::string second = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  parseRequestHead(first, 0, {}, head);
  const ParseResult result = parseRequestHead(second, 0, {}, head);
  EXPECT_EQ(describe(result, head), parseAtOnce(second, {}));
}

TEST(Authority, IsAHostWithAnOptionalPort) {
  for (const char* good : {"a", "a.example", "a:80", "a:", "a:65535", "127.0.0.1:1", "[::1]",
                           "[::1]:80", "[::ffff:1.2.3.4]", "xn--a", "a_b", "%41"}) {
    EXPECT_TRUE(isAuthority(good)) << good;
  }
  for (const char* wrong : {"",    ":80",    "a:65536", "a:x",  "a:-1", "a:80:80", "u@a",
                            "a/b", "a?b",    "a#b",     "a\\b", "a b",  "[::1",    "[]",
                            "[:]", "[::1]x", "[::g]",   "::1",  "a,b",  "\"a\"",   "\xc3\xa9"}) {
    EXPECT_FALSE(isAuthority(wrong)) << wrong;
  }
  EXPECT_TRUE(isAuthority(std::string(1024, 'a')));
  EXPECT_FALSE(isAuthority(std::string(1025, 'a')));
}

}  // namespace
}  // namespace flamegate::proxy
