// A body decodes to the same bytes, or fails, however it is cut; and never over its limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/content_coding.h"

using namespace flamegate::proxy;

namespace {

class Collect final : public ByteSink {
 public:
  void onBytes(std::string_view bytes) override { text += bytes; }
  std::string text;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ContentCoding coding = data[0] % 2 == 0 ? ContentCoding::Gzip : ContentCoding::Deflate;
  const std::string_view encoded(reinterpret_cast<const char*>(data) + 1, size - 1);
  const DecodeLimits limits{.decoded_bytes_max = 1U << 18};
  const Result<std::string> whole = decodeContent(coding, encoded, limits);

  ContentDecoder decoder(coding, limits);
  Collect seen;
  bool valid = true;
  for (size_t at = 0; valid && at < encoded.size(); ++at) {
    valid = decoder.write(encoded.substr(at, 1), seen).has_value();
  }
  valid = valid && decoder.finish().has_value();
  CHECK(seen.text.size() <= limits.decoded_bytes_max);
  CHECK(valid == whole.has_value());
  if (valid) CHECK(seen.text == *whole);
  return 0;
}
