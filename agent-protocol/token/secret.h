// Secret files: what agents and proxy share, and what signs tokens and sessions (SPEC.md R2).
#pragma once

#include <string>
#include <string_view>

#include "proxy/base/result.h"

namespace flamegate::agent {

inline constexpr size_t kSecretBytesMin = 32;
inline constexpr size_t kSecretBytesMax = 4096;

// The secret that a file with this content holds: the bytes less one final line feed or CR LF.
proxy::Result<std::string> secretFromText(std::string_view content);

proxy::Result<std::string> readSecretFile(const std::string& path);

// The same, after making the file (0600, 64 hex digits and a line feed) if there is none. When two
// processes do this at once, both get the same secret. Blocks on the file system.
proxy::Result<std::string> readOrCreateSecretFile(const std::string& path);

}  // namespace flamegate::agent
