#define Py_BUILD_CORE_MODULE 1
#include "thread_state.h"

#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#include <string.h>
#include <ucontext.h>

static const void *interpreter_lock(const PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030C0000
    return thread->interp->ceval.gil;
#else
    (void)thread;
    return &_PyRuntime.ceval.gil;
#endif
}

#if defined(__x86_64__)

static int in_system_call(const ucontext_t *context)
{
    // An interrupted call is either over (the instruction before is `syscall`) or set up to be made again (the next one is).
    static const char kSyscall[2] = {'\x0f', '\x05'};
    const char *next = (const char *)context->uc_mcontext.gregs[REG_RIP];
    if (memcmp(next, kSyscall, 2) == 0) {
        return 1;
    }
    int page_begins = (uintptr_t)next % 4096 < 2;  // what is before may not be mapped
    return !page_begins && memcmp(next - 2, kSyscall, 2) == 0;
}

// The lock's waiters sleep in futex(2) on words inside its condition variables and mutexes; the address of the word is the
// call's first argument, whose register survives the call.
static int wants_interpreter_lock(const PyThreadState *thread, const ucontext_t *context)
{
    uintptr_t word = (uintptr_t)context->uc_mcontext.gregs[REG_RDI];
    uintptr_t lock = (uintptr_t)interpreter_lock(thread);
    return word >= lock && word < lock + sizeof(struct _gil_runtime_state);
}

#else

// Elsewhere the kernel overwrites the call's first argument with its result: a thread that does not advance counts as
// waiting, and waiting for the interpreter lock cannot be told from other waiting.
static int in_system_call(const ucontext_t *context)
{
    (void)context;
    return 1;
}

static int wants_interpreter_lock(const PyThreadState *thread, const ucontext_t *context)
{
    (void)thread;
    (void)context;
    return 0;
}

#endif

fg_state fg_thread_state(const PyThreadState *thread, const void *context, int64_t cpu_ns, int64_t wall_ns)
{
    int advances = cpu_ns * 2 >= wall_ns;
    if (context == NULL) {
        return advances ? FG_RUNNING : FG_WAITING;
    }
    int blocked = in_system_call(context);
    if (_PyThreadState_UncheckedGet() == thread) {
        if (thread->interp->gc.collecting) {
            return FG_GC;
        }
    } else if (blocked && wants_interpreter_lock(thread, context)) {
        return FG_GIL;
    }
    return blocked && !advances ? FG_WAITING : FG_RUNNING;
}
