#include "control/profiles/import.h"

#include <algorithm>
#include <array>

#include "control/profiles/compression.h"
#include "control/profiles/importers.h"
#include "control/profiles/pprof.h"

namespace flamegate::control {
namespace {

proxy::Result<Profile> importPprof(std::string_view bytes, const ImportOptions&) {
  return decodePprof(bytes);
}

constexpr std::array kFormats = {
    ImportFormat{"pprof", "application/x-pprof", importPprof},
    ImportFormat{"collapsed", "text/x-collapsed", importCollapsed},
    ImportFormat{"speedscope", "application/x-speedscope+json", importSpeedscope},
    ImportFormat{"cpuprofile", "application/vnd.cpuprofile+json", importCpuprofile},
    ImportFormat{"stackprof", "application/x-stackprof+json", importStackprof},
};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool hasKey(std::string_view json, std::string_view key) {
  return json.find("\"" + std::string(key) + "\"") != std::string_view::npos;
}

// A first line without control bytes; a pprof file begins with some.
bool looksLikeText(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r';
  };
  return !line.empty() && std::ranges::none_of(line, control);
}

}  // namespace

std::span<const ImportFormat> importFormats() { return kFormats; }

const ImportFormat* findImportFormat(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ImportFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

const ImportFormat* findImportFormatOfType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  const auto found = std::ranges::find_if(kFormats, [&](const ImportFormat& format) {
    return std::ranges::equal(type, format.content_type, {}, lowered);
  });
  return found == kFormats.end() ? nullptr : &*found;
}

const ImportFormat* detectImportFormat(std::string_view bytes) {
  if (bytes.empty()) return nullptr;
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (!looksLikeGzip(bytes) && first != std::string_view::npos && bytes[first] == '{') {
    if (hasKey(bytes, "shared")) return findImportFormat("speedscope");
    if (hasKey(bytes, "callFrame")) return findImportFormat("cpuprofile");
    if (hasKey(bytes, "interval")) return findImportFormat("stackprof");
    return nullptr;
  }
  return findImportFormat(looksLikeText(bytes) ? "collapsed" : "pprof");
}

proxy::Result<Profile> importProfile(std::string_view content_type, std::string_view bytes,
                                     const ImportOptions& options) {
  const ImportFormat* format = findImportFormatOfType(content_type);
  if (format != nullptr) return format->read(bytes, options);
  return proxy::fail(proxy::ErrorCode::Unsupported, proxy::ErrorSource::Agent,
                     "profiles of this content type are not supported");
}

}  // namespace flamegate::control
