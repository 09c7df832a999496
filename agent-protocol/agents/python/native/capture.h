// Records the calling thread by a timer of its own until it is stopped.
//
// A capture samples on CLOCK_MONOTONIC: each tick is a signal to that one thread, whose handler
// reads the stack where it stands, with or without the interpreter lock. Gaps between ticks are
// drawn from 0.5 to 1.5 periods, so that code which repeats in step with the period is seen in its
// true proportions. The weight of a sample is the measured gap before it.
//
// Owner: module.c, one Python object for each capture. Captures live in a fixed pool that is never
// freed, and a tick names its capture by slot and generation: one that arrives late finds a newer
// generation and is ignored.
// Thread: started by the profiled thread, which holds the interpreter lock. Any thread may stop,
// read and release it.
// Ends: fg_capture_release; a child after fork() finds all captures ended.
#ifndef FLAMEGATE_NATIVE_CAPTURE_H
#define FLAMEGATE_NATIVE_CAPTURE_H

#include <Python.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "call_tree.h"
#include "code_table.h"
#include "frames.h"
#include "thread_state.h"

#define FG_CAPTURES_MAX 16
#define FG_SAMPLES_MAX 65536u

typedef struct {
  int64_t wall_ns;  // CLOCK_MONOTONIC
  int64_t cpu_ns;   // CPU time of the thread up to here, less that of the ticks
  uint32_t node;
  uint32_t state;  // fg_state
} fg_sample;

typedef struct {
  uint64_t ticks;       // that the timer was due
  uint64_t missed;      // of these: overslept, unreadable, or dropped by a full buffer
  uint64_t unreadable;  // ticks at an instruction where the stack was just being changed
  uint64_t shortened;   // samples whose inner frames did not fit into the call tree
  int64_t handler_ns;   // CPU time
} fg_counts;

typedef struct {
  // Shared with the handler.
  uint32_t generation;  // atomic; odd while the slot is taken
  int running;          // atomic
  int handlers;         // atomic; ticks that are being handled
  pid_t tid;
  PyThreadState* thread;
  timer_t timer;  // while has_timer
  int has_timer;
  int64_t due_ns;       // the next tick
  int64_t deadline_ns;  // the recording stops here
  int64_t period_ns;    // grows when the buffer is halved
  int jitter;
  uint64_t random;
  int expired;  // stopped by its deadline

  // The recording.
  int64_t start_unix_ns;
  fg_usage start, last, end;  // last: at the last tick; end.cpu_ns: less that of the ticks
  uint32_t start_node;        // the stack that started the capture
  fg_counts counts;
  fg_sample* samples;
  uint32_t samples_used, samples_max;
  fg_call_tree tree;
  fg_code_table codes;
  fg_stack* scratch;

  void* buffer;
  size_t buffer_bytes;
  int unblocked_signal;  // the thread had blocked the ticks' signal
} fg_capture;

typedef struct {
  fg_capture* capture;
  uint32_t generation;
} fg_capture_ref;

typedef struct {
  int64_t period_ns;
  int64_t max_ns;
  uint32_t samples_max;  // even, 2 to FG_SAMPLES_MAX
  int jitter;            // 0: fixed gaps, to see what goes wrong with them
} fg_options;

// Starts recording the calling thread. 0, or an errno: EAGAIN when the pool is empty or the kernel
// has no timer left, EBUSY when this thread is recorded already, ENOTSUP without a free signal or
// in an interpreter that is not this thread's first.
int fg_capture_start(const fg_options* options, fg_capture_ref* out);

// The capture, or NULL when it has ended (released, or left behind by fork()).
fg_capture* fg_capture_get(fg_capture_ref ref);

// No tick touches the capture any more when this returns. `end_ns` cuts what was recorded after it;
// 0: now.
void fg_capture_stop(fg_capture* capture, int64_t end_ns);

// Drops every second sample, so that each one left stands for twice the time. Async-signal-safe.
void fg_capture_halve(fg_capture* capture);

// Memory that the recording holds, in bytes.
size_t fg_capture_bytes(const fg_capture* capture);

// Stops it if need be and frees the slot. The caller holds the interpreter lock.
void fg_capture_release(fg_capture* capture);

// Whether a capture that has not been released has met `code`, and whether there is any such
// capture.
int fg_captures_hold(const PyCodeObject* code);
int fg_captures_exist(void);

#endif
