// What a thread was doing when a tick interrupted it.
#ifndef FLAMEGATE_NATIVE_THREAD_STATE_H
#define FLAMEGATE_NATIVE_THREAD_STATE_H

#include <Python.h>
#include <stdint.h>

typedef enum {
  FG_RUNNING,  // Python or native code, or ready to run and without a CPU
  FG_WAITING,  // blocked in a system call: sleep, socket, disk, lock
  FG_GIL,      // wants the interpreter lock, which another thread holds
  FG_GC,       // the cycle collector runs on this thread
} fg_state;

// What a thread has used up to some point; the difference of two says what it did between them.
typedef struct {
  int64_t wall_ns;             // CLOCK_MONOTONIC
  int64_t cpu_ns;              // CPU time of the thread
  int64_t voluntary_switches;  // times that it gave up the CPU because it had to wait
} fg_usage;

// Of the calling thread, now. Async-signal-safe.
fg_usage fg_thread_usage(void);

// `context` is what the signal handler was given, `from` to `to` the time since the last sample.
// Async-signal-safe.
fg_state fg_thread_state(const PyThreadState* thread, const void* context, const fg_usage* from,
                         const fg_usage* to);

// The same without an interrupted context: only running or waiting.
fg_state fg_usage_state(const fg_usage* from, const fg_usage* to);

#endif
