// Writes a stopped capture as an uncompressed pprof profile (google/pprof, proto/profile.proto).
//
// Sample types are samples/count, wall/nanoseconds and cpu/nanoseconds. There is one sample for
// each tick, in order of time, with the labels `timestamp_ns` (number, Unix time), `thread` and
// `state` (running, waiting, gil, gc). Its weights are the measured gap to the sample before it,
// the first one's from the start, and what remains to the end goes to the last one, so that they
// sum to the recorded time. CPU time before a sample that finds the thread blocked goes to the
// sample before it. A recording shorter than its first tick is one sample of the stack that started
// it.
#ifndef FLAMEGATE_NATIVE_PPROF_H
#define FLAMEGATE_NATIVE_PPROF_H

#include "bytes.h"
#include "capture.h"

typedef struct {
  const char* thread;
  const char* program;       // file name of the mapping
  const char* hidden_files;  // frames of files that begin with this are left out
  const char* const* comments;
  size_t comment_count;
  int cpu_is_default;  // the sample type that viewers show first: cpu instead of wall
} fg_pprof_options;

// Appends the profile to `out`. Frames are named by qualified name, file, first line and current
// line. Outer frames that all samples share, up to the caller of the code that started the capture,
// are left out but for the last of them. 0, or -1 without memory. The caller holds the interpreter
// lock, which is released while samples are written.
int fg_pprof_write(fg_capture* capture, const fg_pprof_options* options, fg_bytes* out);

#endif
