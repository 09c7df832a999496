// One function a format, each in a file of its own; import.cc lists them. What is lost is said
// here.
#pragma once

#include <string_view>

#include "control/profiles/import.h"
#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// "root;caller;leaf COUNT" lines; names as in collapsed_text.h. The count is what follows the last
// blank, decimal digits only; equal stacks are summed. Lines without a count are skipped and
// counted in Loss; a text of such lines only is Malformed. A mark of byte order and CR LF are
// accepted.
proxy::Result<Profile> importCollapsed(std::string_view bytes, const ImportOptions& options);

// speedscope's own JSON, sampled and evented profiles; each becomes a thread. Times have no date.
proxy::Result<Profile> importSpeedscope(std::string_view bytes, const ImportOptions& options);

// V8's .cpuprofile. "(idle)" becomes waiting time without a stack, "(garbage collector)" the state
// gc. Times have no date: V8's clock is not the calendar's.
proxy::Result<Profile> importCpuprofile(std::string_view bytes, const ImportOptions& options);

// stackprof's JSON. With raw stacks every sample is kept; without them each frame is a stack of its
// own. Frames of the garbage collector become the state gc.
proxy::Result<Profile> importStackprof(std::string_view bytes, const ImportOptions& options);

}  // namespace flamegate::control
