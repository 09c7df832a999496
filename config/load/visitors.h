// The visitors beside Reader: what else is done with the descriptions of sections.
#pragma once

#include <string>
#include <vector>

#include "config/schema/config.h"

namespace flamegate::config {

// One key as the reference documents it.
struct KeyInfo {
  std::string path;      // `listeners[].tls.certificates[].cert`; `{}` stands for a name
  std::string type;      // "duration", "map", "list of maps", …
  std::string fallback;  // the default as a file would say it; "absent" where that means something
  std::string limits;
  bool required = false;
  bool operator==(const KeyInfo&) const = default;
};

// Every key, in the order of the descriptions.
std::vector<KeyInfo> listKeys();

// The effective configuration as indented JSON, keys as in a file; passwords, tokens and password
// hashes are "***". Bytes that are no UTF-8 are replaced.
std::string describe(const Config& config);

// Makes every relative path of a file one from `base_dir`.
void resolvePaths(Config& config, const std::string& base_dir);

}  // namespace flamegate::config
