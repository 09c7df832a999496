// One function a format, each in a file of its own; export.cc lists them.
#pragma once

#include <string>
#include <string_view>

#include "control/profiles/export.h"
#include "control/profiles/limits.h"
#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// speedscope's own JSON, one sampled profile a thread with the samples in order of time; a gap
// between samples is an empty stack. Loses lines within functions, values but the shown one, states
// and labels.
proxy::Result<std::string> exportSpeedscope(const Profile& profile, const ExportContext& context);

// Brendan Gregg's text: "root;caller;leaf VALUE", one line a stack, in the shown value's unit.
// Loses all but names and that value. In names, `;`, control characters and blanks at either end
// are written as \xHH, and so is a backslash that such an escape would follow; see
// collapsed_text.h.
proxy::Result<std::string> exportCollapsed(const Profile& profile, const ExportContext& context);

// A picture that needs nothing beside it: no script, no font, no style attributes.
proxy::Result<std::string> exportSvg(const Profile& profile, const ExportContext& context);

// A page that needs nothing beside it: facts, hottest functions, the picture.
proxy::Result<std::string> exportHtml(const Profile& profile, const ExportContext& context);

// Valgrind's format, for KCachegrind. An approximation: calls are not known to a sampler, so their
// counts are those of the samples. A recursive call is a function of its own, f'2, f'3, …, so that
// no inclusive cost exceeds the total.
proxy::Result<std::string> exportCallgrind(const Profile& profile, const ExportContext& context);

// The file that Python's pstats reads: marshalled statistics by function and caller. Counts of
// calls are counts of samples; times are seconds of the shown value.
proxy::Result<std::string> exportPstats(const Profile& profile, const ExportContext& context);

// Chrome's trace events, complete ("X") events only, for Perfetto and chrome://tracing.
proxy::Result<std::string> exportChrome(const Profile& profile, const ExportContext& context);

// V8's .cpuprofile of the thread with the largest weight: the format holds one thread.
proxy::Result<std::string> exportCpuprofile(const Profile& profile, const ExportContext& context);

// {"id","label","comments","loss","period","tree","timeline"}: what the viewer reads, in one piece.
proxy::Result<std::string> exportJson(const Profile& profile, const ExportContext& context);

// For exporters whose output can be far larger than the profile.
inline bool isOverExportLimit(const std::string& out) { return out.size() > kExportBytesMax; }
proxy::Result<std::string> exportTooLarge(std::string_view format);

// Appends the picture without the XML declaration, for the page.
void appendSvg(std::string* out, const Profile& profile, const ExportContext& context);

// "4.000 ms" for times, "512 bytes" for anything else.
void appendValue(std::string* out, const Profile& profile, size_t column, int64_t value);

}  // namespace flamegate::control
