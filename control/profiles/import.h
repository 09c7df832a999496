// The formats in which a profile may arrive.
#pragma once

#include <span>
#include <string_view>

#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

struct ImportOptions {
  // For formats that count samples and do not say how far apart they were: a time `wall` is added,
  // count × period. 0: not known, no time is added.
  int64_t period_ns = 0;
};

struct ImportFormat {
  std::string_view name;  // as in ExportFormat where there is such a format
  std::string_view content_type;
  // Malformed with one line of reason, or TooLarge.
  proxy::Result<Profile> (*read)(std::string_view bytes, const ImportOptions& options);
};

std::span<const ImportFormat> importFormats();
const ImportFormat* findImportFormat(std::string_view name);
// Without regard to case and to parameters ("text/x-collapsed; charset=utf-8").
const ImportFormat* findImportFormatOfType(std::string_view content_type);
// By the first bytes: gzip and protocol buffers are pprof, JSON is told apart by its keys, lines
// that end in a count are collapsed stacks. Nothing when it could be none of them.
const ImportFormat* detectImportFormat(std::string_view bytes);

// The body of an upload, content coding undone. Unsupported when the type is none of ours.
proxy::Result<Profile> importProfile(std::string_view content_type, std::string_view bytes,
                                     const ImportOptions& options = {});

}  // namespace flamegate::control
