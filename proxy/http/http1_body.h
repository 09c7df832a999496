// The length of HTTP/1 bodies (RFC 9112 §6 and §7): tells framing from content, as a stream.
#pragma once

#include <string_view>

#include "proxy/http/head.h"
#include "proxy/http/http1_parser.h"

namespace flamegate::proxy {

// Decodes one body. The caller holds the bytes; this only says what they are.
class Http1BodyDecoder {
 public:
  void begin(Framing framing, uint64_t length);

  struct Step {
    size_t framing_bytes = 0;  // at the front: to be dropped now
    size_t content_bytes = 0;  // behind them: content; may be taken piecemeal by take()
    std::string_view trailers; // the section that ended the body, within the framing bytes
    Http1Fault fault = Http1Fault::None;
  };
  // What the bytes at the front of the input are. With neither framing nor content, more input is
  // needed, or the body is over.
  Step look(std::string_view bytes);
  // The caller has dropped that many content bytes.
  void take(size_t content_bytes) {
    if (framing_ != Framing::UntilClose) left_ -= content_bytes;
    if (left_ == 0) endOfRun();
  }

  // The body is complete. One that lasts until the connection closes is complete at end of input.
  bool done() const { return state_ == State::Done; }
  void endOfInput() {
    if (framing_ == Framing::UntilClose) state_ = State::Done;
  }
  Framing framing() const { return framing_; }
  // Content bytes known to be still to come: of the body, or of the present chunk.
  uint64_t left() const { return left_; }

 private:
  enum class State : uint8_t { Content, ChunkLine, ChunkEnd, Trailers, Done };

  void endOfRun() { state_ = framing_ == Framing::Chunked ? State::ChunkEnd : State::Done; }
  bool lookAtFraming(std::string_view rest, Step& step);
  bool lookAtChunkLine(std::string_view rest, Step& step);
  bool lookAtTrailers(std::string_view rest, Step& step);

  Framing framing_ = Framing::None;
  State state_ = State::Done;
  uint64_t left_ = 0;
  size_t extension_bytes_ = 0;
};

}  // namespace flamegate::proxy
