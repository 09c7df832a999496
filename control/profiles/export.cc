#include "control/profiles/export.h"

#include <algorithm>
#include <array>

#include "control/profiles/exporters.h"
#include "control/profiles/pprof.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr size_t kLabelBytesMax = 60;
constexpr std::string_view kCallgrindPrefix = "callgrind.out.";

proxy::Result<std::string> exportPprof(const Profile& profile, const ExportContext&) {
  return encodePprof(profile);
}

constexpr std::array kFormats = {
    ExportFormat{"pprof", "application/x-pprof", ".pb.gz", exportPprof},
    ExportFormat{"speedscope", "application/x-speedscope+json", ".speedscope.json",
                 exportSpeedscope},
    ExportFormat{"collapsed", "text/x-collapsed; charset=utf-8", ".collapsed.txt", exportCollapsed},
    ExportFormat{"callgrind", "application/x-kcachegrind", ".callgrind", exportCallgrind},
    ExportFormat{"pstats", "application/octet-stream", ".pstats", exportPstats},
    ExportFormat{"chrome", "application/json", ".trace.json", exportChrome},
    ExportFormat{"cpuprofile", "application/vnd.cpuprofile+json", ".cpuprofile", exportCpuprofile},
    ExportFormat{"svg", "image/svg+xml", ".svg", exportSvg},
    ExportFormat{"html", "text/html; charset=utf-8", ".html", exportHtml},
    ExportFormat{"json", "application/json", ".json", exportJson},
};

// Endings that others use for our formats.
struct Ending {
  std::string_view ending;
  std::string_view format;
};
constexpr std::array kForeignEndings = {
    Ending{".pprof", "pprof"},         Ending{".pb", "pprof"},
    Ending{".collapsed", "collapsed"}, Ending{".folded", "collapsed"},
    Ending{".txt", "collapsed"},       Ending{".prof", "pstats"},
    Ending{".chrome.json", "chrome"},  Ending{".htm", "html"},
};

std::string_view baseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters and digits, anything between them one hyphen.
std::string slug(std::string_view text, size_t bytes_max) {
  std::string out;
  for (const char c : text) {
    if (out.size() == bytes_max) break;
    if (isPlain(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '-') {
      out.push_back('-');
    }
  }
  if (out.ends_with('-')) out.pop_back();
  return out;
}

}  // namespace

std::span<const ExportFormat> exportFormats() { return kFormats; }

const ExportFormat* findExportFormat(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ExportFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

const ExportFormat* findExportFormatOfFile(std::string_view file_name) {
  file_name = baseName(file_name);
  if (file_name.starts_with(kCallgrindPrefix)) return findExportFormat("callgrind");
  for (const Ending& known : kForeignEndings) {
    if (file_name.ends_with(known.ending)) return findExportFormat(known.format);
  }
  for (const ExportFormat& format : kFormats) {
    if (file_name.ends_with(format.file_ending)) return &format;
  }
  return nullptr;
}

std::string exportFileName(const ExportFormat& format, const ExportContext& context) {
  const std::string id = slug(context.id, kLabelBytesMax);
  if (format.name == "callgrind") return std::string(kCallgrindPrefix) + (id.empty() ? "0" : id);
  std::string name = "flamegate";
  for (const std::string& part : {id, slug(context.label, kLabelBytesMax)}) {
    if (!part.empty()) name += "-" + part;
  }
  return name + std::string(format.file_ending);
}

proxy::Result<std::string> exportTooLarge(std::string_view format) {
  return proxy::fail(proxy::ErrorCode::TooLarge, proxy::ErrorSource::Client,
                     "the profile is too large for " + std::string(format) +
                         ": more than 256 MiB; pprof holds it");
}

void appendValue(std::string* out, const Profile& profile, size_t column, int64_t value) {
  constexpr double kNsInMs = 1e6;
  const TimeWeight weight = timeWeight(profile);
  if (weight.is_time && weight.column == column) {
    appendFixed(out, static_cast<double>(multiplySaturating(value, weight.factor)) / kNsInMs, 3);
    *out += " ms";
    return;
  }
  appendNumber(out, value);
  if (column == kNoIndex) return;
  out->push_back(' ');
  *out += profile.text(profile.value_types[column].unit);
}

}  // namespace flamegate::control
