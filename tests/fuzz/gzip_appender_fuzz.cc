// Whatever comes in decodes, or fails to decode, as it would have without us; and what was whole
// decodes to itself and the tail. The first byte says how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/content_coding.h"

using namespace flamegate::proxy;

namespace {

class Ignore final : public ByteSink {
 public:
  void onBytes(std::string_view) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] % 64 + 1;
  const std::string_view encoded(reinterpret_cast<const char*>(data) + 1, size - 1);
  const DecodeLimits limits{.decoded_bytes_max = 1U << 20};
  const Result<std::string> before = decodeContent(ContentCoding::Gzip, encoded, limits);
  if (!before && before.error().code == ErrorCode::TooLarge) return 0;

  GzipAppender appender;
  Ignore sink;
  std::string out;
  for (size_t at = 0; at < encoded.size(); at += piece)
    appender.write(encoded.substr(at, piece), out, sink);
  const bool appended = appender.finish("tail", out);
  const Result<std::string> after = decodeContent(ContentCoding::Gzip, out, limits);
  CHECK(before.has_value() == after.has_value());
  CHECK(!appended || before.has_value());
  if (before) CHECK(*after == (appended ? *before + "tail" : *before));
  return 0;
}
