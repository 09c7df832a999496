// Any bytes as collapsed stacks: what is accepted and written again reads as the same text.
#include <cstdint>
#include <string_view>

#include "control/profiles/export.h"
#include "control/profiles/import.h"
#include "proxy/base/check.h"

using namespace flamegate::control;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ImportFormat& import = *findImportFormat("collapsed");
  const ExportFormat& write = *findExportFormat("collapsed");
  const auto profile = import.read(bytes, {.period_ns = 1000});
  if (!profile) return 0;
  // By count: the shown value would be the time, which may stop at the end of its range.
  const auto counted = import.read(bytes, {});
  const std::string once = *write.write(*counted, {});
  const auto again = import.read(once, {});
  CHECK(again.has_value());
  CHECK(again->loss.bad_lines == 0);
  CHECK(*write.write(*again, {}) == once);
  return 0;
}
