#include "proxy/http/http2_message.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http1_writer.h"

namespace flamegate::proxy {
namespace {

using Fields = std::vector<HpackField>;

Fields requestWith(Fields more) {
  Fields fields = {
      {":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"}, {":path", "/p?q"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

struct Http2MessageTest : testing::Test {
  Http2Fault readRequest(const Fields& fields, bool end = true) {
    memory.clear();
    Http2BlockReader reader(limits, memory);
    for (const HpackField& field : fields) reader.add(field);
    return reader.takeRequest(end, request);
  }
  Http2Fault readResponse(const Fields& fields, bool end, Method method = Method::Get) {
    memory.clear();
    Http2BlockReader reader(limits, memory);
    for (const HpackField& field : fields) reader.add(field);
    return reader.takeResponse(end, method, response);
  }
  // The request as an HTTP/1 application gets it.
  std::string asHttp1() {
    Buffer out(pool);
    writeRequestHead(request, out);
    return std::string(out.view());
  }
  static std::string textOf(std::span<const HpackField> fields) {
    std::string text;
    for (const HpackField& field : fields) {
      text.append(field.name).append("=").append(field.value).append("|");
    }
    return text;
  }

  BufferPool pool;
  Buffer memory{pool};
  HpackFields room;
  Http1Limits limits;
  RequestHead request;
  ResponseHead response;
};

TEST_F(Http2MessageTest, MakesAnHttp1RequestOfTheFields) {
  ASSERT_EQ(readRequest(requestWith({{"accept", "*/*"}, {"te", "trailers"}, {"x-empty", ""}})),
            Http2Fault::None);
  EXPECT_EQ(asHttp1(), "GET /p?q HTTP/1.1\r\naccept: */*\r\nx-empty: \r\nHost: a.test\r\n\r\n");
  EXPECT_EQ(request.framing, Framing::None);
  EXPECT_TRUE(request.http2);
}

TEST_F(Http2MessageTest, JoinsCookieCrumbs) {
  ASSERT_EQ(readRequest(requestWith({{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}})),
            Http2Fault::None);
  EXPECT_EQ(asHttp1(), "GET /p?q HTTP/1.1\r\nx: y\r\ncookie: a=1; b=2\r\nHost: a.test\r\n\r\n");
}

TEST_F(Http2MessageTest, FramesContentByLengthOrInChunks) {
  ASSERT_EQ(readRequest(requestWith({{"content-length", "5"}}), false), Http2Fault::None);
  EXPECT_EQ(request.framing, Framing::Length);
  ASSERT_EQ(readRequest(requestWith({}), false), Http2Fault::None);
  EXPECT_EQ(request.framing, Framing::Chunked);
  EXPECT_EQ(readRequest(requestWith({{"content-length", "5"}}), true), Http2Fault::ContentLength);
}

TEST_F(Http2MessageTest, BoundsHeads) {
  const std::string large(70'000, 'v');
  EXPECT_EQ(readRequest(requestWith({{"x-large", large}})), Http2Fault::HeadTooLarge);
  EXPECT_EQ(readRequest(requestWith(Fields(101, {"a", "b"}))), Http2Fault::TooManyFields);
  limits.target_bytes_max = 3;
  EXPECT_EQ(readRequest(requestWith({})), Http2Fault::TargetTooLong);
}

TEST_F(Http2MessageTest, TakesAWebSocketAsAnUpgrade) {
  Fields fields = requestWith({{":protocol", "websocket"}});
  fields[0].value = "CONNECT";
  ASSERT_EQ(readRequest(fields, false), Http2Fault::None);
  EXPECT_EQ(request.method, Method::Get);
  EXPECT_EQ(request.upgrade, "websocket");
  fields.back().value = "other";
  EXPECT_EQ(readRequest(fields, false), Http2Fault::Protocol);
  EXPECT_EQ(readRequest(requestWith({{":protocol", "websocket"}})), Http2Fault::PseudoField);
}

TEST_F(Http2MessageTest, KnowsTheLengthOfResponses) {
  ASSERT_EQ(readResponse({{":status", "200"}}, true), Http2Fault::None);
  EXPECT_EQ(response.framing, Framing::None);
  EXPECT_EQ(response.fields.find(HeaderId::ContentLength)->value(), "0");
  ASSERT_EQ(readResponse({{":status", "200"}, {"content-length", "7"}}, true, Method::Head),
            Http2Fault::None);
  EXPECT_EQ(response.framing, Framing::None);
  ASSERT_EQ(readResponse({{":status", "200"}}, false), Http2Fault::None);
  EXPECT_EQ(response.framing, Framing::Chunked);
}

TEST_F(Http2MessageTest, RefusesMalformedResponses) {
  for (const Fields& fields :
       {Fields{}, Fields{{":status", "101"}}, Fields{{":status", "20"}},
        Fields{{":status", "2000"}}, Fields{{":status", "abc"}},
        Fields{{":status", "200"}, {":status", "200"}}, Fields{{":status", "200"}, {":path", "/"}},
        Fields{{":status", "200"}, {"connection", "close"}},
        Fields{{":status", "200"}, {"Upper", "x"}},
        Fields{{":status", "200"}, {"content-length", "1,1"}}, Fields{{":status", "103"}}}) {
    EXPECT_NE(readResponse(fields, true), Http2Fault::None) << textOf(fields);
  }
}

TEST_F(Http2MessageTest, WritesRequestsInLowerCaseWithoutHost) {
  RequestHead head;
  head.method_text = "GET";
  head.target = "?q";
  head.authority = "a.test";
  head.fields.add("Host", "b.test");
  head.fields.add("X-Mixed", "Value");
  head.fields.add("TE", "gzip, trailers", HeaderId::Te);
  head.fields.removeAll(HeaderId::Te);
  Http2BlockWriter writer(pool, room);
  EXPECT_EQ(textOf(writer.request(head, false)),
            ":method=GET|:scheme=http|:authority=b.test|:path=/?q|x-mixed=Value|te=trailers|");
}

TEST_F(Http2MessageTest, WritesAnUpgradeAsExtendedConnect) {
  RequestHead head;
  head.method_text = "GET";
  head.target = "/chat";
  head.upgrade = "websocket";
  head.fields.add("Host", "a.test");
  head.fields.add("Sec-WebSocket-Key", "key");
  head.fields.add("Sec-WebSocket-Version", "13");
  Http2BlockWriter writer(pool, room);
  EXPECT_EQ(textOf(writer.request(head, true)),
            ":method=CONNECT|:protocol=websocket|:scheme=https|:authority=a.test|:path=/chat|"
            "sec-websocket-version=13|");
  ResponseHead accepted;
  accepted.status = 101;
  accepted.fields.add("Sec-WebSocket-Accept", "x");
  accepted.fields.add("Sec-WebSocket-Protocol", "chat");
  Http2BlockWriter other(pool, room);
  EXPECT_EQ(textOf(other.response(accepted)), ":status=200|sec-websocket-protocol=chat|");
}

}  // namespace
}  // namespace flamegate::proxy
