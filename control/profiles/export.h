// The formats in which a profile leaves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// What the documents and file names say about the profile beside its samples. Valid UTF-8.
struct ExportContext {
  std::string id;
  std::string label;  // "GET /homepage"
};

struct ExportFormat {
  std::string_view name;  // "speedscope"
  std::string_view content_type;
  std::string_view file_ending;  // ".speedscope.json"
  // TooLarge when the text would grow beyond kExportBytesMax. Every valid profile can be written in
  // every format, one without samples too.
  proxy::Result<std::string> (*write)(const Profile&, const ExportContext&);
};

std::span<const ExportFormat> exportFormats();
// Nothing when the name is not known.
const ExportFormat* findExportFormat(std::string_view name);
// By a file's name: "x.speedscope.json", "x.folded", "callgrind.out.7". Nothing when it tells
// nothing.
const ExportFormat* findExportFormatOfFile(std::string_view file_name);

// "flamegate-ID-GET-homepage.speedscope.json", and "callgrind.out.ID" because KCachegrind looks for
// that. Safe in a header and on every file system.
std::string exportFileName(const ExportFormat& format, const ExportContext& context);

}  // namespace flamegate::control
