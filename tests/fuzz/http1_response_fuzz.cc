// A response head means the same whether it comes at once or byte by byte, what is passed on is
// read as it was read here, and a repaired head is either strict or refused. The first byte chooses
// HEAD.
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

ParseResult parseByteByByte(std::string_view bytes, Method method, const Http1Limits& limits) {
  ResponseHead head;
  ParseResult result;
  for (size_t size = 1; size <= bytes.size() && result.state == State::Incomplete; ++size) {
    const std::string block(bytes.substr(0, size));
    result = parseResponseHead(block, size - 1, method, limits, head);
  }
  return result;
}

void checkClient(const ResponseHead& head, Method method) {
  BufferPool pool;
  Buffer out(pool);
  writeResponseHead(head, {}, out);
  Http1Limits limits;
  limits.fields_max = kFieldsMax;
  ResponseHead again;
  const ParseResult result = parseResponseHead(out.view(), 0, method, limits, again);
  CHECK(result.state == State::Complete && result.head_bytes == out.size());
  CHECK(again.status == head.status && again.reason == head.reason);
  CHECK(again.framing == head.framing);
  CHECK(again.framing != Framing::Length || again.content_length == head.content_length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Method method = data[0] == 'H' ? Method::Head : Method::Get;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1),
                               std::min(size - 1, kInputBytesMax));
  const Http1Limits limits{.head_bytes_max = 1024, .fields_max = 30};
  ResponseHead head;
  const ParseResult whole = parseResponseHead(bytes, 0, method, limits, head);
  const ParseResult bytewise = parseByteByByte(bytes, method, limits);
  CHECK((whole.state == State::Complete) == (bytewise.state == State::Complete));
  CHECK(bytewise.state != State::Bad || whole.state == State::Bad);
  if (whole.state == State::Complete) checkClient(head, method);

  size_t head_bytes = 0;
  const std::string repaired = repairResponseHead(bytes, head_bytes);
  CHECK(head_bytes <= bytes.size());
  if (repaired.empty()) return 0;
  const ParseResult result = parseResponseHead(repaired, 0, method, limits, head);
  CHECK(result.state != State::Complete || result.head_bytes == repaired.size());
  if (result.state == State::Complete) checkClient(head, method);
  return 0;
}
