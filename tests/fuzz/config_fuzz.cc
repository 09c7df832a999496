// Any text either loads or is answered with faults. What loads is complete, and its printed form
// loads to a configuration that is printed so again.
#include <cstdint>
#include <string>
#include <string_view>

#include "config/load/load.h"
#include "config/load/visitors.h"

namespace {

using namespace flamegate::config;

// The printed form of larger configurations may be over the limits of a file.
constexpr size_t kReloadedBytesMax = 200'000;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

LoadOptions hermetic() {
  LoadOptions options;
  options.check_files = false;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    return name == "SET" ? std::optional<std::string>("value") : std::nullopt;
  };
  return options;
}

void checkFaults(const std::vector<Fault>& faults) {
  require(!faults.empty());
  for (const Fault& fault : faults) require(!toText(fault).empty() && !fault.message.empty());
}

void checkConfig(const Config& config) {
  require(!config.listeners.empty() && !config.routes.empty());
  for (const Route& route : config.routes) {
    require(route.redirect || config.clusters.at(route.cluster_index).name == route.cluster);
  }
  for (const Cluster& cluster : config.clusters) {
    require(!cluster.endpoints.empty() && !cluster.service.empty());
  }
}

void checkPrinted(const Config& config) {
  const std::string printed = describe(config);
  const bool masked = printed.find("***") != std::string::npos;
  const bool would_expand = printed.find("${") != std::string::npos;
  if (masked || would_expand || printed.size() > kReloadedBytesMax) return;
  const Loading again = loadText(printed, "printed", "/base", hermetic());
  require(again.has_value() && describe(again->config) == printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Loading loading = loadText(text, "fuzz", "/base", hermetic());
  if (loading) {
    checkConfig(loading->config);
    checkPrinted(loading->config);
  } else {
    checkFaults(loading.error());
  }
  return 0;
}
