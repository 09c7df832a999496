// The commands that are not the proxy itself: each parses its own arguments and returns the exit status.
#pragma once

#include <getopt.h>

#include <functional>
#include <string>
#include <vector>

#include "config/load/load.h"

namespace flamegate {

inline constexpr int kUsageError = 2;

// Prints the message and where to find help; returns kUsageError.
int usageError(const std::string& message);

// The options that name a configuration, in every command.
struct ConfigSource {
  std::string file;
  config::CommandLine line;

  bool given() const;
  config::Loading load() const;
  // The same, as arguments of another command.
  std::vector<std::string> arguments() const;
  // Loads, or prints every fault. Nothing then.
  std::optional<config::Config> loadOrExplain() const;
};

// Parses the options of a configuration source and `others`, which `take(id, value)` receives.
// Nothing: go on behind optind; else the exit status.
std::optional<int> parseOptions(int argc, char** argv, const char* usage, ConfigSource& source,
                                const std::vector<option>& others,
                                const std::function<void(int, std::string)>& take);

int runControlCommand(int argc, char** argv);
int makeToken(int argc, char** argv);
int getProfileCommand(int argc, char** argv);
int convertCommand(int argc, char** argv);

}  // namespace flamegate
