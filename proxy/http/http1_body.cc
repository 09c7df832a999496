#include "proxy/http/http1_body.h"

#include <algorithm>

#include "proxy/http/scan.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kExtensionBytesMax = 4096;  // in one body (RFC 9112 §7.1.1 asks for a limit)
constexpr size_t kSizeDigitsMax = 15;        // 2^60: no overflow
constexpr size_t kTrailerBytesMax = 8192;

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Http1BodyDecoder::begin(Framing framing, uint64_t length) {
  framing_ = framing;
  left_ = length;
  extension_bytes_ = 0;
  switch (framing) {
    case Framing::None: state_ = State::Done; break;
    case Framing::Length: state_ = length > 0 ? State::Content : State::Done; break;
    case Framing::Chunked:
      left_ = 0;
      state_ = State::ChunkLine;
      break;
    case Framing::UntilClose:
      left_ = UINT64_MAX;
      state_ = State::Content;
      break;
  }
}

Http1BodyDecoder::Step Http1BodyDecoder::look(std::string_view bytes) {
  Step step;
  while (state_ != State::Content && state_ != State::Done) {
    if (!lookAtFraming(bytes.substr(step.framing_bytes), step)) return step;
  }
  if (state_ == State::Content) {
    step.content_bytes = std::min<uint64_t>(left_, bytes.size() - step.framing_bytes);
  }
  return step;
}

// Advances over one piece of framing; false when it is incomplete or faulty.
bool Http1BodyDecoder::lookAtFraming(std::string_view rest, Step& step) {
  if (state_ == State::ChunkLine) return lookAtChunkLine(rest, step);
  if (state_ == State::Trailers) return lookAtTrailers(rest, step);
  if (!rest.empty() && (rest[0] != '\r' || (rest.size() > 1 && rest[1] != '\n'))) {
    step.fault = Http1Fault::ChunkSize;
    return false;
  }
  if (rest.size() < 2) return false;
  step.framing_bytes += 2;
  state_ = State::ChunkLine;
  return true;
}

// chunk-size [ chunk-ext ] CRLF
bool Http1BodyDecoder::lookAtChunkLine(std::string_view rest, Step& step) {
  size_t at = 0;
  uint64_t size = 0;
  for (int digit; at < rest.size() && (digit = hexDigit(rest[at])) >= 0; ++at) {
    if (at == kSizeDigitsMax) {
      step.fault = Http1Fault::ChunkSize;
      return false;
    }
    size = size * 16 + static_cast<uint64_t>(digit);
  }
  if (at == rest.size()) return false;
  if (at == 0 || (rest[at] != '\r' && rest[at] != ';')) {
    step.fault = Http1Fault::ChunkSize;
    return false;
  }
  const char* const extension = rest.data() + at;
  const char* const end = rest.data() + rest.size();
  const char* eol = findControl(extension, end);
  while (eol != end && *eol == '\t') eol = findControl(eol + 1, end);
  const size_t extension_bytes = static_cast<size_t>(eol - extension);
  if (extension_bytes_ + extension_bytes > kExtensionBytesMax) {
    step.fault = Http1Fault::ChunkExtensions;
    return false;
  }
  if (eol != end && (*eol != '\r' || (end - eol > 1 && eol[1] != '\n'))) {
    step.fault = Http1Fault::ChunkSize;
    return false;
  }
  if (end - eol < 2) return false;
  extension_bytes_ += extension_bytes;
  step.framing_bytes += at + extension_bytes + 2;
  left_ = size;
  state_ = size > 0 ? State::Content : State::Trailers;
  return true;
}

// trailer-section CRLF
bool Http1BodyDecoder::lookAtTrailers(std::string_view rest, Step& step) {
  size_t size = 0;
  if (rest.starts_with("\r\n")) {
    size = 2;
  } else {
    const bool bare = !rest.empty() && (rest[0] == '\n' || (rest[0] == '\r' && rest.size() > 1));
    const size_t end = rest.find("\r\n\r\n");
    if (bare || end == std::string_view::npos) {
      if (bare || rest.size() > kTrailerBytesMax) step.fault = Http1Fault::Trailers;
      return false;
    }
    size = end + 4;
    if (size > kTrailerBytesMax) {
      step.fault = Http1Fault::Trailers;
      return false;
    }
    step.trailers = rest.substr(0, size);
  }
  step.framing_bytes += size;
  state_ = State::Done;
  return true;
}

}  // namespace flamegate::proxy
