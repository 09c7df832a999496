// Whatever bytes a client sends: the codec and the heads hold their invariants, and it does not
// matter in which pieces they come.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/http2_codec.h"
#include "proxy/http/http2_message.h"
#include "tests/fuzz/http2_frames.h"

using namespace flamegate::proxy;
using Kind = Http2Event::Kind;

namespace {

constexpr size_t kInputBytesMax = 4096;

// A session without sockets: opens what is asked for, answers some of it, and logs what it saw.
class Session {
 public:
  Session() : codec_({.server = true, .streams_max = 4}, memory_, pool_, out_) { codec_.start(); }

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
        return;
      case Kind::Content:
        content_ += event.content.size();
        codec_.consume(*event.stream, event.content.size());
        if (event.end) answer(*event.stream);
        return;
      case Kind::Reset:
        log_ += "reset " + std::to_string(event.id) + "\n";
        codec_.close(*event.stream);
        return;
      default:
        return;
    }
  }

  void onHead(const Http2Event& event) {
    Buffer memory(pool_);
    Http2BlockReader reader(limits_, memory);
    HpackField field;
    while (codec_.nextField(field)) reader.add(field);
    if (codec_.failed()) return;
    if (event.stream != nullptr) {
      if (reader.takeTrailers(trailers_) == Http2Fault::None) log_ += "trailers\n";
      return answer(*event.stream);
    }
    Http2Stream& stream = *streams_.emplace_back(std::make_unique<Http2Stream>());
    codec_.open(stream, event.id, event.end);
    const Http2Fault fault = reader.takeRequest(event.end, head_);
    log_ += "head " + std::to_string(event.id) + std::string(http2FaultName(fault)) + "\n";
    if (fault != Http2Fault::None) {
      codec_.sendReset(stream, Http2Error::ProtocolError);
      return codec_.close(stream);
    }
    checkNextHop();
    if (event.end) answer(stream);
  }

  // What is forwarded is one request, to an HTTP/1 parser, too (RFC 9113 §10.3).
  void checkNextHop() {
    if (head_.method == Method::Connect) return;  // never forwarded
    Buffer written(pool_);
    writeRequestHead(head_, written);
    Http1Limits limits;
    limits.fields_max = kFieldsMax;
    RequestHead again;
    const ParseResult result = parseRequestHead(written.view(), 0, limits, again);
    CHECK(result.state == ParseResult::State::Complete);
    CHECK(result.head_bytes == written.size());
    CHECK(again.method_text == head_.method_text && again.framing == head_.framing);
    CHECK(again.authority == head_.authority);
  }

  void answer(Http2Stream& stream) {
    const HpackField fields[] = {{":status", "200"}};
    codec_.sendBlock(stream, fields, false);
    codec_.sendEnd(stream);
    codec_.close(stream);
  }

  HpackMemory memory_;
  BufferPool pool_;
  Buffer out_{pool_};
  Http2Codec codec_;
  Http1Limits limits_;
  RequestHead head_;
  FieldList trailers_;
  std::string in_;
  std::string log_;
  size_t content_ = 0;
  std::vector<std::unique_ptr<Http2Stream>> streams_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes =
      std::string(kHttp2Preface) +
      framesOf({reinterpret_cast<const char*>(data), std::min(size, kInputBytesMax)});
  Session whole;
  whole.receive(bytes);
  Session bytewise;
  for (const char& byte : bytes) bytewise.receive({&byte, 1});
  CHECK(whole.log() == bytewise.log());
  CHECK(whole.failed() == bytewise.failed());
  return 0;
}
