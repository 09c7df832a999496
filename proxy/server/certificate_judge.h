// Lets the loader of configurations look into certificates and keys.
#pragma once

#include "config/load/load.h"

namespace flamegate::proxy {

// Judges files as the listeners and clusters that use them would. Blocks on the file system.
config::CertificateJudge certificateJudge();

}  // namespace flamegate::proxy
