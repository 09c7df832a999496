// What the store reads of bytes that others may have written: a server's replies, summaries,
// records. The first byte chooses the reader; replies are fed in pieces of its size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/store/record.h"
#include "control/store/resp.h"
#include "control/store/summary.h"

namespace flamegate::control {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void readReplies(std::string_view bytes, size_t piece) {
  RespReader reader(1 << 16);
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    if (!reader.feed(part)) return;
    for (;;) {
      auto reply = reader.next();
      if (!reply) return;
      if (!*reply) break;
    }
  }
}

void readSummary(std::string_view text) {
  const auto summary = findSummary(text);
  if (summary) require(findSummary(encodeSummary(*summary)).has_value());
}

void readRecord(std::string_view json) {
  auto record = recordFromJson(json);
  if (record) require(recordFromJson(toJson(*record)).has_value());
}

}  // namespace
}  // namespace flamegate::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flamegate::control;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      readReplies(bytes, 1 + data[0] / 3u);
      break;
    case 1:
      readSummary(bytes);
      break;
    case 2:
      readRecord(bytes);
      break;
  }
  return 0;
}
