// What no single key can tell: rules between keys, and between keys and files.
#pragma once

#include <string>

#include "config/load/findings.h"
#include "config/load/load.h"
#include "config/schema/config.h"

namespace flamegate::config {

// Routes and clusters fit each other, nothing is there twice, expressions and their replacements
// agree; warnings for what can never work or is open to the world.
void checkConfig(const Config& config, Findings& findings);

// The files that the configuration names can be used: readable, long enough, and not readable by
// everybody where they are secret; what `judge` says of certificates. Reads the file system.
void checkFiles(const Config& config, const CertificateJudge& judge, Findings& findings);

}  // namespace flamegate::config
