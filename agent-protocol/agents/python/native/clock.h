// Clocks in nanoseconds. Everything here may be called from a signal handler.
#ifndef FLAMEGATE_NATIVE_CLOCK_H
#define FLAMEGATE_NATIVE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define FG_NS_PER_S INT64_C(1000000000)

static inline int64_t fg_clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * FG_NS_PER_S + now.tv_nsec;
}

static inline int64_t fg_monotonic_ns(void) { return fg_clock_ns(CLOCK_MONOTONIC); }

// CPU time of the calling thread.
static inline int64_t fg_thread_cpu_ns(void) { return fg_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

#endif
