// JSON from agents and from the proxy: never more than its limits, and stable once read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent-protocol/wire/capture_record.h"
#include "agent-protocol/wire/json_fields.h"
#include "agent-protocol/wire/meta.h"
#include "proxy/base/check.h"
#include "proxy/base/encoding.h"

using namespace flamegate::agent;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = parseCaptureRecord(text)) {
    const std::string line = formatCaptureRecord(*record);
    CHECK(line.size() <= kRecordLineBytesMax);
    const auto again = parseCaptureRecord(line);
    CHECK(again && *again == *record);
  }
  if (const auto meta = parseMeta(flamegate::proxy::toBase64Url(text))) {
    const auto again = parseMeta(formatMeta(*meta));
    CHECK(again && *again == *meta);
  }
  static_cast<void>(parseMeta(text));
  const std::string clean = cleanText(text, 64);
  CHECK(clean.size() <= 64 && cleanText(clean, 64) == clean);
  return 0;
}
