// Any bytes as a pprof file: decoding is refused in one line, or gives a profile that every
// exporter takes and that comes back equal in size from a second round.
#include <cstdint>
#include <string_view>

#include "control/profiles/export.h"
#include "control/profiles/pprof.h"
#include "proxy/base/check.h"

using namespace flamegate::control;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto profile = decodePprof(bytes);
  if (!profile) {
    CHECK(!profile.error().detail.empty());
    CHECK(profile.error().detail.find('\n') == std::string::npos);
    return 0;
  }
  for (const ExportFormat& format : exportFormats()) {
    CHECK(format.write(*profile, {"id", "label"}).has_value());
  }
  const std::string once = encodePprofPlain(*profile);
  const auto again = decodePprof(once);
  CHECK(again.has_value());
  CHECK(again->samples.size() == profile->samples.size());
  CHECK(again->samples.values == profile->samples.values);
  CHECK(again->samples.timestamp_ns == profile->samples.timestamp_ns);
  return 0;
}
