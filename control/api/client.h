// `flamegate get`: a stored profile for scripts.
#pragma once

#include <string>

#include "config/schema/config.h"
#include "proxy/base/result.h"

namespace flamegate::control {

struct GetRequest {
  std::string id;
  std::string format = "pprof";
  std::string out;  // file to write; empty: standard output
};

// Fetches the file, waiting up to a minute for a profile that is not settled: from control where
// the configuration says where that is, else through a clear-text listener of the running proxy
// (with a token of its own making), else from the store itself. Blocks.
proxy::Result<std::string> getProfile(const config::Config& config, const std::string& id,
                                      const std::string& format);

// The command: writes the file, or says on standard error what is wrong. Returns the exit status.
int runGet(const config::Config& config, const GetRequest& request);

}  // namespace flamegate::control
