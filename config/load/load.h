// From YAML text or a command line to the effective configuration, or to everything that is wrong
// with it. Nothing here throws.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "config/load/fault.h"
#include "config/load/variables.h"
#include "config/schema/config.h"

namespace flamegate::config {

// A configuration that can be run, and what its author should know.
struct Loaded {
  Config config;
  std::vector<Fault> warnings;
};

// Never an empty list of faults.
using Loading = tl::expected<Loaded, std::vector<Fault>>;

// Something about the files of a certificate.
struct CertificateIssue {
  std::string key;     // of the configuration, beside the others: cert, key or ocsp
  std::string what;    // in words that follow the file's name
  bool fatal = false;  // it cannot be used; otherwise a warning
};

// Looks into certificates, which the loader cannot do by itself.
struct CertificateJudge {
  std::function<std::vector<CertificateIssue>(const ServerCertificate& files)> certificate = {};
  // Why the file cannot be used, its name included.
  std::function<std::optional<std::string>(const std::string& file)> authorities = {};
};

struct LoadOptions {
  Environment environment = processEnvironment();
  bool check_files = true;  // whether the files that are named must be there and fit
  CertificateJudge judge = {};  // with check_files; without one certificates need only be readable
};

// Relative paths in the file are relative to its directory. Up to 1 MiB.
Loading loadFile(const std::string& path, const LoadOptions& options = {});

// `name` stands for the file in messages.
Loading loadText(std::string_view text, const std::string& name, const std::string& base_dir,
                 const LoadOptions& options = {});

// What `flamegate run` takes instead of a file. Empty: the default.
struct CommandLine {
  std::string listen;    // an address; 127.0.0.1:8080
  std::string upstream;  // an http URL without a path, or unix:/path; http://127.0.0.1:3000
  std::string store;     // redis://…, or the path of an embedded store; flamegate.db
};

// Relative paths are relative to the working directory. Faults have no position.
Loading fromCommandLine(const CommandLine& line, const LoadOptions& options = {});

}  // namespace flamegate::config
