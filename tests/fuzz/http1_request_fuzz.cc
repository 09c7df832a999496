// A request head means the same whether it comes at once or byte by byte, and what is forwarded is
// read by the next hop as it was read here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/http1_parser.h"
#include "proxy/http/http1_writer.h"

using namespace flamegate::proxy;
using State = ParseResult::State;

namespace {

constexpr size_t kInputBytesMax = 2048;  // the byte-by-byte pass is quadratic

ParseResult parseByteByByte(std::string_view bytes, const Http1Limits& limits) {
  RequestHead head;
  ParseResult result;
  for (size_t size = 1; size <= bytes.size() && result.state == State::Incomplete; ++size) {
    // A block of its own, so that a read past the end is seen.
    const std::string block(bytes.substr(0, size));
    result = parseRequestHead(block, size - 1, limits, head);
  }
  return result;
}

std::string written(const RequestHead& head) {
  BufferPool pool;
  Buffer out(pool);
  writeRequestHead(head, out);
  return std::string(out.view());
}

void checkNextHop(RequestHead& head) {
  // The forwarding filter gives a request of HTTP/1.0 the field that HTTP/1.1 demands.
  if (!head.fields.has(HeaderId::Host) && !head.fields.add("Host", "a")) return;
  const std::string once = written(head);
  Http1Limits limits;
  limits.fields_max = kFieldsMax;
  RequestHead again;
  const ParseResult result = parseRequestHead(once, 0, limits, again);
  CHECK(result.state == State::Complete && result.head_bytes == once.size());
  CHECK(again.method_text == head.method_text && again.framing == head.framing);
  CHECK(again.path() == head.path() && again.query() == head.query());
  CHECK(again.content_length == head.content_length && again.upgrade == head.upgrade);
  CHECK(written(again) == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kInputBytesMax));
  const Http1Limits limits{.head_bytes_max = 1024, .fields_max = 30, .target_bytes_max = 200};
  RequestHead head;
  const ParseResult whole = parseRequestHead(bytes, 0, limits, head);
  const ParseResult bytewise = parseByteByByte(bytes, limits);
  CHECK((whole.state == State::Complete) == (bytewise.state == State::Complete));
  CHECK(whole.head_bytes == bytewise.head_bytes);
  CHECK(bytewise.state != State::Bad || whole.state == State::Bad);
  if (whole.state == State::Complete) checkNextHop(head);
  return 0;
}
