#include "control/profiles/convert.h"

#include "control/profiles/compression.h"
#include "control/profiles/import.h"
#include "control/profiles/summary.h"

namespace flamegate::control {
namespace {

// "pprof, collapsed, …"
template <typename Formats>
std::string namesOf(const Formats& formats) {
  std::string names;
  for (const auto& format : formats) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

auto unsupported(std::string detail) {
  return proxy::fail(proxy::ErrorCode::Unsupported, proxy::ErrorSource::Client, std::move(detail));
}

// Endings such as ".json" name formats that are not read; then the bytes decide.
const ImportFormat* chooseImportFormat(const ConvertRequest& request, std::string_view bytes) {
  if (!request.from.empty()) return findImportFormat(request.from);
  const ExportFormat* by_ending = findExportFormatOfFile(request.in_name);
  const ImportFormat* format = by_ending ? findImportFormat(by_ending->name) : nullptr;
  return format ? format : detectImportFormat(bytes);
}

}  // namespace

proxy::Result<Conversion> convertProfile(const ConvertRequest& request) {
  const ExportFormat* to =
      request.to.empty() ? findExportFormatOfFile(request.out_name) : findExportFormat(request.to);
  if (to == nullptr) {
    return unsupported("the format to write is not known; there are " + namesOf(exportFormats()));
  }
  std::string inflated;
  std::string_view bytes = request.bytes;
  if (looksLikeGzip(bytes)) {
    proxy::Result<std::string> plain = inflateGzip(bytes);
    if (!plain) return proxy::fail(std::move(plain.error()));
    inflated = std::move(*plain);
    bytes = inflated;
  }
  const ImportFormat* from = chooseImportFormat(request, bytes);
  if (from == nullptr) {
    return unsupported("the format to read is not known; there are " + namesOf(importFormats()));
  }
  const proxy::Result<Profile> profile = from->read(bytes, {});
  if (!profile) return proxy::fail(profile.error());
  proxy::Result<std::string> out = to->write(*profile, request.context);
  if (!out) return proxy::fail(std::move(out.error()));
  return Conversion{std::move(*out), describeLoss(profile->loss)};
}

}  // namespace flamegate::control
