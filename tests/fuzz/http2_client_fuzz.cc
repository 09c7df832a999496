// Whatever an application answers to four requests: the codec and the heads hold their invariants,
// it does not matter in which pieces it comes, and what goes to a client of HTTP/1 is one response.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/http2_codec.h"
#include "proxy/http/http2_message.h"
#include "tests/fuzz/http2_frames.h"

using namespace flamegate::proxy;
using Kind = Http2Event::Kind;

namespace {

constexpr size_t kInputBytesMax = 4096;

class Session {
 public:
  Session() : codec_({.server = false}, memory_, pool_, out_) {
    codec_.start();
    const HpackField fields[] = {
        {":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}};
    for (Http2Stream& stream : streams_) {
      CHECK(codec_.openNew(stream));
      codec_.sendBlock(stream, fields, true);
    }
  }

  void receive(std::string_view bytes) {
    in_ += bytes;
    for (;;) {
      const Http2Event event = codec_.next(in_);
      if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) {
        in_.erase(0, event.used);
        return;
      }
      handle(event);
      in_.erase(0, event.used);
    }
  }
  const std::string& log() const { return log_; }
  bool failed() const { return codec_.failed(); }

 private:
  void handle(const Http2Event& event) {
    switch (event.kind) {
      case Kind::Head:
        onHead(event);
        break;
      case Kind::Content:
        codec_.consume(*event.stream, event.content.size());
        break;
      case Kind::Reset:
        log_ += "reset " + std::to_string(event.id) + "\n";
        codec_.close(*event.stream);
        return;
      case Kind::GoAway:
        log_ += "goaway\n";
        return;
      default:
        return;
    }
    if (event.end && !codec_.failed()) codec_.close(*event.stream);
  }

  void onHead(const Http2Event& event) {
    Buffer memory(pool_);
    Http2BlockReader reader(limits_, memory);
    HpackField field;
    while (codec_.nextField(field)) reader.add(field);
    if (codec_.failed()) return;
    if (event.stream->head_received) {
      if (reader.takeTrailers(trailers_) == Http2Fault::None) log_ += "trailers\n";
      return;
    }
    const Http2Fault fault = reader.takeResponse(event.end, Method::Get, head_);
    log_ += "head " + std::to_string(event.id) + std::string(http2FaultName(fault)) + "\n";
    if (fault != Http2Fault::None) return;
    event.stream->head_received = !head_.interim();
    checkNextHop();
  }

  void checkNextHop() {
    Buffer written(pool_);
    writeResponseHead(head_, {}, written);
    Http1Limits limits;
    limits.fields_max = kFieldsMax;
    ResponseHead again;
    const ParseResult result = parseResponseHead(written.view(), 0, Method::Get, limits, again);
    CHECK(result.state == ParseResult::State::Complete);
    CHECK(result.head_bytes == written.size());
    CHECK(again.status == head_.status);
    CHECK(head_.status < 200 || again.framing == head_.framing);
  }

  HpackMemory memory_;
  BufferPool pool_;
  Buffer out_{pool_};
  Http2Codec codec_;
  Http1Limits limits_;
  ResponseHead head_;
  FieldList trailers_;
  std::string in_;
  std::string log_;
  std::array<Http2Stream, 4> streams_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes =
      framesOf({reinterpret_cast<const char*>(data), std::min(size, kInputBytesMax)});
  Session whole;
  whole.receive(bytes);
  Session bytewise;
  for (const char& byte : bytes) bytewise.receive({&byte, 1});
  CHECK(whole.log() == bytewise.log());
  CHECK(whole.failed() == bytewise.failed());
  return 0;
}
