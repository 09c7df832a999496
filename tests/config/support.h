// Helpers of the configuration's tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load/load.h"

namespace flamegate::config {

inline std::string linesOf(const std::vector<Fault>& faults) {
  std::string lines;
  for (const Fault& fault : faults) lines += toText(fault) + "\n";
  return lines;
}

// Loads without looking at files, from /etc/flamegate/test.yaml, with PORT=8080 as the environment.
inline Loading loadTest(const std::string& text, const std::string& name = "test.yaml") {
  LoadOptions options;
  options.check_files = false;
  options.environment = [](const std::string& variable) -> std::optional<std::string> {
    return variable == "PORT" ? std::optional<std::string>("8080") : std::nullopt;
  };
  return loadText(text, name, "/etc/flamegate", options);
}

// The configuration of a text that must be right.
inline Config loadGood(const std::string& text) {
  Loading loading = loadTest(text);
  EXPECT_TRUE(loading) << linesOf(loading.error());
  return loading ? std::move(loading->config) : Config();
}

// The messages about a text that must be wrong.
inline std::string faultsOf(const std::string& text) {
  const Loading loading = loadTest(text);
  return loading ? "none" : linesOf(loading.error());
}

}  // namespace flamegate::config
