#define Py_BUILD_CORE_MODULE 1
#include "thread_state.h"

#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "clock.h"

static const void* interpreter_lock(const PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030C0000
  return thread->interp->ceval.gil;
#else
  (void)thread;
  return &_PyRuntime.ceval.gil;
#endif
}

#if defined(__x86_64__)

static int in_system_call(const ucontext_t* context) {
  // An interrupted call is either over (the instruction before is `syscall`) or set up to be made
  // again (the next one is).
  static const char kSyscall[2] = {'\x0f', '\x05'};
  const char* next = (const char*)context->uc_mcontext.gregs[REG_RIP];
  if (memcmp(next, kSyscall, 2) == 0) {
    return 1;
  }
  int page_begins = (uintptr_t)next % 4096 < 2;  // what is before may not be mapped
  return !page_begins && memcmp(next - 2, kSyscall, 2) == 0;
}

// The lock's waiters sleep in futex(2) on words inside its condition variables and mutexes; the
// address of the word is the call's first argument, whose register survives the call.
static int wants_interpreter_lock(const PyThreadState* thread, const ucontext_t* context) {
  uintptr_t word = (uintptr_t)context->uc_mcontext.gregs[REG_RDI];
  uintptr_t lock = (uintptr_t)interpreter_lock(thread);
  return word >= lock && word < lock + sizeof(struct _gil_runtime_state);
}

#else

// Elsewhere the kernel overwrites the call's first argument with its result: waiting for the
// interpreter lock cannot be told from other waiting.
static int in_system_call(const ucontext_t* context) {
  (void)context;
  return 1;
}

static int wants_interpreter_lock(const PyThreadState* thread, const ucontext_t* context) {
  (void)thread;
  (void)context;
  return 0;
}

#endif

fg_usage fg_thread_usage(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return (fg_usage){fg_monotonic_ns(), fg_thread_cpu_ns(), usage.ru_nvcsw};
}

// A thread that did not advance without having given up the CPU was ready to run, but others ran.
fg_state fg_usage_state(const fg_usage* from, const fg_usage* to) {
  int advanced = (to->cpu_ns - from->cpu_ns) * 2 >= to->wall_ns - from->wall_ns;
  return !advanced && to->voluntary_switches != from->voluntary_switches ? FG_WAITING : FG_RUNNING;
}

fg_state fg_thread_state(const PyThreadState* thread, const void* context, const fg_usage* from,
                         const fg_usage* to) {
  int in_call = in_system_call(context);
  if (_PyThreadState_UncheckedGet() == thread) {
    if (thread->interp->gc.collecting) {
      return FG_GC;
    }
  } else if (in_call && wants_interpreter_lock(thread, context)) {
    return FG_GIL;
  }
  return in_call ? fg_usage_state(from, to) : FG_RUNNING;
}
