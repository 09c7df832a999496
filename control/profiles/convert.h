// From one format to another, for `flamegate convert`.
#pragma once

#include <string>
#include <string_view>

#include "control/profiles/export.h"
#include "proxy/base/result.h"

namespace flamegate::control {

struct ConvertRequest {
  std::string_view bytes;      // of the file to read; may be gzipped whatever its format
  std::string_view from = {};  // a format's name; "": by the file's name, else by its bytes
  std::string_view to = {};    // a format's name; "": by the file's name
  std::string_view in_name = {};
  std::string_view out_name = {};
  ExportContext context = {};
};

struct Conversion {
  std::string bytes;
  std::string lost;  // what the file read had lost, as describeLoss() puts it; "": nothing
};

// Unsupported, with the names that are known, when a format cannot be told.
proxy::Result<Conversion> convertProfile(const ConvertRequest& request);

}  // namespace flamegate::control
