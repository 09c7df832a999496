// A chunked body decodes to the same content, end and trailers however its bytes arrive. The first
// byte is the size of a piece, the second how much content is taken at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_writer.h"

using namespace flamegate::proxy;

namespace {

struct Decoded {
  std::string content;
  std::string trailers;
  bool faulty = false;
  bool done = false;
};

Decoded decode(std::string_view input, size_t piece, size_t take) {
  Http1BodyDecoder decoder;
  decoder.begin(Framing::Chunked, 0);
  Decoded out;
  std::string held;
  while (!decoder.done()) {
    const Http1BodyDecoder::Step step = decoder.look(held);
    out.faulty = step.fault != Http1Fault::None;
    if (out.faulty) return out;
    CHECK(step.framing_bytes + step.content_bytes <= held.size());
    out.trailers += step.trailers;
    const size_t taken = std::min(step.content_bytes, take);
    out.content.append(held, step.framing_bytes, taken);
    held.erase(0, step.framing_bytes + taken);
    if (taken > 0) {
      decoder.take(taken);
      continue;
    }
    if (input.empty()) break;
    held += input.substr(0, piece);
    input.remove_prefix(std::min(piece, input.size()));
  }
  out.done = decoder.done();
  return out;
}

// What the writer would make of the content is read back as the same.
void checkEncoded(const std::string& content) {
  BufferPool pool;
  Buffer out(pool);
  if (!content.empty()) {
    char line[20];
    out.append({line, writeChunkLine(content.size(), line)});
    out.append(content);
    out.append("\r\n");
  }
  writeChunkedEnd(nullptr, out);
  const Decoded again = decode(out.view(), out.size(), SIZE_MAX);
  CHECK(again.done && again.content == content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const Decoded whole = decode(input, std::max<size_t>(input.size(), 1), SIZE_MAX);
  const Decoded pieces = decode(input, data[0] % 16 + 1, data[1] % 16 + 1);
  CHECK(whole.faulty == pieces.faulty && whole.done == pieces.done);
  CHECK(whole.faulty || (whole.content == pieces.content && whole.trailers == pieces.trailers));
  checkEncoded(whole.content);
  return 0;
}
