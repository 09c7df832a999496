#include "proxy/http/http2_codec.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http2_message.h"

namespace flamegate::proxy {
namespace {

using Kind = Http2Event::Kind;

// What one side of a connection saw and said.
struct Http2Side {
  explicit Http2Side(Http2Options options) : codec(options, memory, pool, out) { codec.start(); }

  // Takes bytes as a session does; every stream that the peer opens is kept open.
  void receive(std::string_view bytes) {
    held += bytes;
    for (;;) {
      const Http2Event event = codec.next(held);
      if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) {
        if (event.kind == Kind::Failed) events.push_back("failed");
        held.erase(0, event.used);
        return;
      }
      note(event);
      held.erase(0, event.used);
    }
  }

  void note(const Http2Event& event) {
    const std::string end = event.end ? " end" : "";
    switch (event.kind) {
      case Kind::Head: {
        std::string text = "head " + std::to_string(event.id);
        HpackField field;
        while (codec.nextField(field)) text.append(" ").append(field.name);
        if (!codec.failed()) events.push_back(text + end);
        if (event.stream != nullptr || codec.failed()) return;
        streams.push_back(std::make_unique<Http2Stream>());
        codec.open(*streams.back(), event.id, event.end);
        return;
      }
      case Kind::Content:
        content += event.content;
        if (event.end) events.push_back("end " + std::to_string(event.id));
        if (consumes) codec.consume(*event.stream, event.content.size());
        return;
      case Kind::Reset:
        events.push_back("reset " + std::to_string(event.id));
        codec.close(*event.stream);
        return;
      case Kind::GoAway:
        events.push_back("goaway " + std::to_string(event.id));
        return;
      case Kind::Drained:
        events.push_back("drained");
        return;
      default:
        return;
    }
  }

  std::string take() {
    std::string bytes(out.view());
    out.clear();
    return bytes;
  }

  HpackMemory memory;
  BufferPool pool;
  Buffer out{pool};
  Http2Codec codec;
  std::string held;
  std::string content;
  std::vector<std::string> events;
  std::vector<std::unique_ptr<Http2Stream>> streams;
  bool consumes = true;
};

const HpackField kRequest[] = {
    {":method", "POST"}, {":scheme", "http"}, {":authority", "a.test"}, {":path", "/"}};

std::string frame(Http2FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string bytes(kHttp2FrameHeadBytes, '\0');
  writeFrameHead({static_cast<uint32_t>(payload.size()), type, flags, stream}, bytes.data());
  return bytes.append(payload);
}

struct Http2CodecTest : testing::Test {
  // Opens a stream at the client and sends its head.
  Http2Stream& request(bool end) {
    Http2Stream& stream = *client.streams.emplace_back(std::make_unique<Http2Stream>());
    EXPECT_TRUE(client.codec.openNew(stream));
    client.codec.sendBlock(stream, kRequest, end);
    return stream;
  }
  void send(Http2Stream& stream, std::string_view content, bool end) {
    char head[kHttp2FrameHeadBytes];
    client.codec.beginData(stream, content.size(), end, head);
    client.out.append({head, sizeof head});
    client.out.append(content);
  }
  void exchange() {
    server.receive(client.take());
    client.receive(server.take());
    server.receive(client.take());
  }

  Http2Side client{{.server = false}};
  Http2Side server{{.server = true}};
};

TEST_F(Http2CodecTest, CarriesARequestAndItsContent) {
  send(request(false), "content", true);
  exchange();
  EXPECT_EQ(server.events,
            (std::vector<std::string>{"head 1 :method :scheme :authority :path", "end 1"}));
  EXPECT_EQ(server.content, "content");
}

TEST_F(Http2CodecTest, MeansTheSameByteByByte) {
  Http2Stream& stream = request(false);
  send(stream, std::string(3000, 'x'), false);
  send(stream, "rest", true);
  request(true);
  for (const char& byte : client.take()) server.receive({&byte, 1});
  EXPECT_EQ(server.events,
            (std::vector<std::string>{"head 1 :method :scheme :authority :path", "end 1",
                                      "head 3 :method :scheme :authority :path end"}));
  EXPECT_EQ(server.content.size(), 3004U);
}

TEST_F(Http2CodecTest, SplitsLargeBlocksIntoContinuations) {
  const std::string large(40'000, 'v');
  Http2Stream& stream = *client.streams.emplace_back(std::make_unique<Http2Stream>());
  ASSERT_TRUE(client.codec.openNew(stream));
  const HpackField fields[] = {kRequest[0], {"x-large", large}};
  client.codec.sendBlock(stream, fields, true);
  exchange();
  EXPECT_EQ(server.events, std::vector<std::string>{"head 1 :method x-large end"});
}

TEST_F(Http2CodecTest, GivesWindowsBackOnlyForConsumedContent) {
  server.consumes = false;
  Http2Stream& stream = request(false);
  exchange();
  while (client.codec.sendable(stream) > 0) {
    send(stream, std::string(std::min<size_t>(client.codec.sendable(stream), 16'384), 'x'), false);
  }
  exchange();
  EXPECT_EQ(server.content.size(), kHttp2DefaultWindow);
  EXPECT_EQ(client.codec.sendable(stream), 0U);
  server.codec.consume(*server.streams[0], 40'000);
  exchange();
  EXPECT_EQ(client.codec.sendable(stream), 40'000U);
}

TEST_F(Http2CodecTest, CountsContentOfClosedStreamsAsConsumed) {
  server.consumes = false;
  for (int i = 0; i < 40; ++i) {
    Http2Stream& stream = request(false);
    exchange();
    send(stream, std::string(16'384, 'x'), false);
    send(stream, std::string(16'384, 'x'), false);
    server.receive(client.take());
    server.codec.sendReset(*server.streams.back(), Http2Error::NoError);
    server.codec.close(*server.streams.back());
    // It crosses the reset.
    send(stream, std::string(16'384, 'x'), false);
    exchange();
  }
  EXPECT_FALSE(server.codec.failed());
  EXPECT_FALSE(client.codec.failed());
  EXPECT_EQ(client.events.size(), 40U);  // resets
}

TEST_F(Http2CodecTest, EndsFloodsWithEnhanceYourCalm) {
  exchange();
  const std::string floods[] = {
      frame(Http2FrameType::Ping, 0, 0, "12345678"),
      frame(Http2FrameType::Settings, 0, 0, ""),
      frame(static_cast<Http2FrameType>(0x77), 0, 0, ""),
  };
  for (const std::string& flood : floods) {
    Http2Side victim({.server = true});
    Http2Side attacker({.server = false});
    victim.receive(attacker.take());
    int sent = 0;
    for (; !victim.codec.failed() && sent < 10'000; ++sent) victim.receive(flood);
    EXPECT_LE(sent, Http2Codec::kBudget + 10);
    const std::string said = victim.take();
    EXPECT_NE(said.find(std::string("\0\0\0\x0b", 4)), std::string::npos);
  }
}

TEST_F(Http2CodecTest, UsefulExchangesPayForFrames) {
  exchange();
  for (int i = 0; i < 5000; ++i) {
    server.receive(frame(Http2FrameType::Ping, 0, 0, "12345678"));
    server.codec.noteUseful();
  }
  EXPECT_FALSE(server.codec.failed());
}

TEST_F(Http2CodecTest, BoundsBlocksInManyFrames) {
  exchange();
  std::string bytes = frame(Http2FrameType::Headers, 0, 1, "");
  for (int i = 0; i <= Http2Codec::kContinuationsMax; ++i) {
    bytes += frame(Http2FrameType::Continuation, 0, 1, "");
  }
  server.receive(bytes);
  EXPECT_EQ(server.events, std::vector<std::string>{"failed"});
}

TEST_F(Http2CodecTest, RefusesStreamsOverTheLimitAndKeepsTheTable) {
  Http2Side small({.server = true, .streams_max = 1});
  request(false);
  request(true);
  small.receive(client.take());
  client.receive(small.take());
  EXPECT_EQ(client.events, std::vector<std::string>{"reset 3"});
  small.codec.close(*small.streams[0]);
  request(true);
  small.receive(client.take());
  EXPECT_EQ(small.events.back(), "head 5 :method :scheme :authority :path end");
}

TEST_F(Http2CodecTest, ShutsDownInTwoSteps) {
  exchange();
  server.codec.announceShutdown();
  client.receive(server.take());
  EXPECT_EQ(client.events, std::vector<std::string>{"goaway 2147483647"});
  request(true);
  exchange();
  EXPECT_EQ(server.events.front(), "drained");
  server.codec.sendGoAway(Http2Error::NoError, {});
  client.receive(server.take());
  EXPECT_EQ(client.events.back(), "goaway 1");
  request(true);
  exchange();
  EXPECT_EQ(server.events.back(), "head 1 :method :scheme :authority :path end");
}

}  // namespace
}  // namespace flamegate::proxy
