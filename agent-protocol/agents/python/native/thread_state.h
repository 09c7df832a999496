// What a thread was doing when a tick interrupted it.
#ifndef FLAMEGATE_NATIVE_THREAD_STATE_H
#define FLAMEGATE_NATIVE_THREAD_STATE_H

#include <Python.h>

typedef enum {
    FG_RUNNING,  // Python or native code, or ready to run and without a CPU
    FG_WAITING,  // blocked in a system call: sleep, socket, disk, lock
    FG_GIL,      // wants the interpreter lock, which another thread holds
    FG_GC,       // the cycle collector runs on this thread
} fg_state;

// `context` is what the signal handler was given; `cpu_ns` of `wall_ns` since the last sample were CPU time of this thread.
// NULL for `context`: judged by the CPU time alone. Async-signal-safe.
fg_state fg_thread_state(const PyThreadState *thread, const void *context, int64_t cpu_ns, int64_t wall_ns);

#endif
