// Any bytes as each of the JSON formats of profiles; the first byte chooses the format.
#include <cstdint>
#include <string_view>

#include "control/profiles/export.h"
#include "control/profiles/import.h"
#include "proxy/base/check.h"

using namespace flamegate::control;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr std::string_view kFormats[] = {"speedscope", "cpuprofile", "stackprof"};
  const ImportFormat& format = *findImportFormat(kFormats[data[0] % 3]);
  const auto profile = format.read({reinterpret_cast<const char*>(data) + 1, size - 1}, {});
  if (!profile) return 0;
  for (const ExportFormat& write : exportFormats()) CHECK(write.write(*profile, {}).has_value());
  return 0;
}
