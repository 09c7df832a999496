#include "capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "tick_signal.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static fg_capture pool[FG_CAPTURES_MAX];
static int tick_number;  // the signal, 0 before the first capture
static int captures;     // taken slots

static void handle_tick(int number, siginfo_t* info, void* context);

// --- drawing the gaps ---

// xorshift64*: 0 (included) to 1 (excluded).
static double draw(fg_capture* c) {
  c->random ^= c->random >> 12;
  c->random ^= c->random << 25;
  c->random ^= c->random >> 27;
  return (double)((c->random * UINT64_C(0x2545F4914F6CDD1D)) >> 11) * 0x1p-53;
}

static int64_t draw_gap(fg_capture* c) {
  if (!c->jitter) {
    return c->period_ns;
  }
  int64_t gap = (int64_t)((0.5 + draw(c)) * (double)c->period_ns);
  return gap > 0 ? gap : 1;
}

// The wait for the first tick of a process that has been running for ever: a random part of a gap,
// where long gaps are met in proportion to their length. A request of n periods then gets n samples
// on average, however short it is.
static int64_t draw_first_gap(fg_capture* c) {
  double met;
  do {
    met = 0.5 + draw(c);
  } while (draw(c) * 1.5 > met);
  int64_t gap = (int64_t)(met * draw(c) * (double)c->period_ns);
  return gap > 0 ? gap : 1;
}

static void arm(const fg_capture* c) {
  struct itimerspec at = {{0, 0}, {c->due_ns / FG_NS_PER_S, c->due_ns % FG_NS_PER_S}};
  timer_settime(c->timer, TIMER_ABSTIME, &at, NULL);
}

// --- taking a sample: runs in the signal handler ---

void fg_capture_halve(fg_capture* c) {
  // Of each pair the later one stays: its weight, the gap to the one before, then covers both.
  uint32_t kept = c->samples_used / 2;
  for (uint32_t i = 0; i < kept; i++) {
    c->samples[i] = c->samples[2 * i + 1];
  }
  c->counts.missed += c->samples_used - kept;
  c->samples_used = kept;
  c->period_ns *= 2;
}

static uint32_t intern(fg_capture* c) {
  const fg_stack* stack = c->scratch;
  uint32_t node = FG_ROOT;
  if (stack->truncated) {
    node = fg_tree_child(&c->tree, node, FG_CODE_TRUNCATED, 0);
  }
  for (int i = stack->count - 1; i >= 0; i--) {
    uint32_t child = fg_tree_child(&c->tree, node, stack->frames[i].code, stack->frames[i].instr);
    if (child == FG_ROOT) {
      c->counts.shortened++;
      return node;
    }
    node = child;
  }
  return node;
}

static void take_sample(fg_capture* c, const fg_usage* now, const void* context) {
  c->counts.ticks++;
  fg_read_stack(c->thread, &c->codes, c->scratch);
  if (c->scratch->count == 0) {
    c->counts.missed++;
    c->counts.unreadable++;
    return;
  }
  if (c->samples_used == c->samples_max) {
    fg_capture_halve(c);
  }
  fg_state state = fg_thread_state(c->thread, context, &c->last, now);
  int64_t cpu_ns = now->cpu_ns - c->counts.handler_ns;
  c->samples[c->samples_used++] = (fg_sample){now->wall_ns, cpu_ns, intern(c), (uint32_t)state};
  c->last = *now;
}

// `tick_ns` is what this tick took. The thread has nine times that for itself before the next one:
// on a machine that is too slow for the period it would otherwise do nothing but ticks.
static void schedule_next(fg_capture* c, int64_t tick_ns) {
  int64_t earliest_ns = fg_monotonic_ns() + 9 * tick_ns;
  c->due_ns += draw_gap(c);
  while (c->due_ns <= earliest_ns && c->due_ns < c->deadline_ns) {
    c->counts.ticks++;
    c->counts.missed++;
    c->due_ns += draw_gap(c);
  }
  if (c->due_ns > c->deadline_ns) {
    c->due_ns = c->deadline_ns;
  }
  arm(c);
}

// CPU time of the ticks themselves is not the application's.
static void end_at(fg_capture* c, const fg_usage* usage, int64_t wall_ns) {
  c->end = *usage;
  c->end.wall_ns = wall_ns;
  c->end.cpu_ns -= c->counts.handler_ns;
}

// The interpreter forgets the state of an ending thread just before it frees it, and ticks may come
// until the thread is gone.
static int thread_lives(const fg_capture* c) {
  return PyGILState_GetThisThreadState() == c->thread;
}

static void tick(fg_capture* c, const void* context) {
  fg_usage now = fg_thread_usage();
  if (now.wall_ns >= c->deadline_ns || !thread_lives(c)) {
    c->expired = now.wall_ns >= c->deadline_ns;
    end_at(c, &now, c->expired ? c->deadline_ns : now.wall_ns);
    __atomic_store_n(&c->running, 0, __ATOMIC_SEQ_CST);
    return;
  }
  take_sample(c, &now, context);
  int64_t tick_ns = fg_thread_cpu_ns() - now.cpu_ns;
  c->counts.handler_ns += tick_ns;
  schedule_next(c, tick_ns);
}

static void* tick_name(const fg_capture* c) {
  return (void*)((uintptr_t)c->generation * FG_CAPTURES_MAX + (uintptr_t)(c - pool));
}

static void handle_tick(int number, siginfo_t* info, void* context) {
  (void)number;
  if (info->si_code != SI_TIMER) {
    return;
  }
  int saved_errno = errno;
  uintptr_t name = (uintptr_t)info->si_value.sival_ptr;
  fg_capture* c = &pool[name % FG_CAPTURES_MAX];
  __atomic_add_fetch(&c->handlers, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&c->running, __ATOMIC_SEQ_CST) && (void*)name == tick_name(c)) {
    tick(c, context);
  }
  __atomic_sub_fetch(&c->handlers, 1, __ATOMIC_SEQ_CST);
  errno = saved_errno;
}

// --- fork ---

static __thread int fork_blocked_ticks;

static pid_t thread_id(void) { return (pid_t)syscall(SYS_gettid); }

static fg_capture* running_on(pid_t tid) {
  for (int i = 0; i < FG_CAPTURES_MAX; i++) {
    if (__atomic_load_n(&pool[i].running, __ATOMIC_SEQ_CST) && pool[i].tid == tid) {
      return &pool[i];
    }
  }
  return NULL;
}

// Returns whether the signal was blocked before.
static int mask_ticks(int how) {
  sigset_t ticks, before;
  sigemptyset(&ticks);
  sigaddset(&ticks, tick_number);
  pthread_sigmask(how, &ticks, &before);
  return sigismember(&before, tick_number) == 1;
}

// The kernel starts fork() over when a signal comes while it copies the process. When that takes
// longer than a period it would never end, so the ticks wait.
static void before_fork(void) {
  fork_blocked_ticks = captures != 0 && running_on(thread_id()) != NULL && !mask_ticks(SIG_BLOCK);
}

static void after_fork_in_parent(void) {
  if (fork_blocked_ticks) {
    mask_ticks(SIG_UNBLOCK);
  }
}

// Timers are not inherited. Nothing of the parent's captures is of use here; references to code
// objects that the guard kept are given back when a capture of the child's own is released.
static void after_fork_in_child(void) {
  for (int i = 0; i < FG_CAPTURES_MAX; i++) {
    fg_capture* c = &pool[i];
    c->running = 0;
    c->handlers = 0;
    c->has_timer = 0;
    if (c->generation % 2 != 0) {
      munmap(c->buffer, c->buffer_bytes);
      c->buffer = NULL;
      c->generation++;
    }
  }
  captures = 0;
  after_fork_in_parent();
}

// --- start and end ---

static fg_capture* free_slot(void) {
  for (int i = 0; i < FG_CAPTURES_MAX; i++) {
    if (pool[i].generation % 2 == 0) {
      return &pool[i];
    }
  }
  return NULL;
}

// One mapping, whose pages become real memory when the recording first reaches them.
static int map_buffer(fg_capture* c, uint32_t samples_max) {
  size_t samples = samples_max * sizeof(fg_sample);
  size_t nodes = FG_NODES_MAX * sizeof(fg_node);
  size_t slots = FG_NODE_SLOTS * sizeof(uint32_t);
  size_t codes = FG_CODE_SLOTS * sizeof(fg_code);
  size_t bytes = samples + nodes + slots + codes + sizeof(fg_stack);
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return ENOMEM;
  }
  c->buffer = at;
  c->buffer_bytes = bytes;
  c->samples = (fg_sample*)at;
  c->samples_max = samples_max;
  c->codes = (fg_code_table){(fg_code*)(at + samples), 0};
  c->tree = (fg_call_tree){(fg_node*)(at + samples + codes),
                           (uint32_t*)(at + samples + codes + nodes), 1};
  c->scratch = (fg_stack*)(at + samples + codes + nodes + slots);
  return 0;
}

static int make_timer(fg_capture* c) {
  struct sigevent event;
  memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_number;
  event.sigev_value.sival_ptr = tick_name(c);
  event.sigev_notify_thread_id = c->tid;
  if (timer_create(CLOCK_MONOTONIC, &event, &c->timer) != 0) {
    return errno;
  }
  c->has_timer = 1;
  return 0;
}

static void seed(fg_capture* c) {
  if (getrandom(&c->random, sizeof(c->random), GRND_NONBLOCK) != sizeof(c->random)) {
    c->random = (uint64_t)fg_monotonic_ns() ^ (uint64_t)(uintptr_t)c->buffer;
  }
  c->random |= 1;  // the generator's only fixed point is 0
}

static void begin(fg_capture* c, const fg_options* options) {
  seed(c);
  memset(&c->counts, 0, sizeof(c->counts));
  c->samples_used = 0;
  c->expired = 0;
  c->period_ns = options->period_ns;
  c->jitter = options->jitter;
  c->start_unix_ns = fg_clock_ns(CLOCK_REALTIME);
  c->start = c->last = fg_thread_usage();
  c->deadline_ns = c->start.wall_ns + options->max_ns;
  c->due_ns = c->start.wall_ns + draw_first_gap(c);
  if (c->due_ns > c->deadline_ns) {
    c->due_ns = c->deadline_ns;
  }
  fg_read_stack(c->thread, &c->codes, c->scratch);
  c->start_node = intern(c);
}

int fg_capture_start(const fg_options* options, fg_capture_ref* out) {
  static int fork_hooks_installed;
  pid_t tid = thread_id();
  if (running_on(tid) != NULL) {
    return EBUSY;
  }
  PyThreadState* thread = PyThreadState_Get();
  if (PyGILState_GetThisThreadState() != thread) {
    return ENOTSUP;  // one of several interpreters: nothing would tell when the thread's state ends
  }
  fg_capture* c = free_slot();
  if (c == NULL) {
    return EAGAIN;
  }
  tick_number = fg_tick_signal(handle_tick);
  if (tick_number == 0) {
    return ENOTSUP;
  }
  if (!fork_hooks_installed) {
    fork_hooks_installed =
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
    if (!fork_hooks_installed) {
      return ENOMEM;
    }
  }
  int error = map_buffer(c, options->samples_max);
  if (error != 0) {
    return error;
  }
  c->tid = tid;
  c->thread = thread;
  c->generation++;
  error = make_timer(c);
  if (error != 0) {
    munmap(c->buffer, c->buffer_bytes);
    c->generation++;
    return error;
  }
  captures++;
  begin(c, options);
  c->unblocked_signal = mask_ticks(SIG_UNBLOCK);
  __atomic_store_n(&c->running, 1, __ATOMIC_SEQ_CST);
  arm(c);
  *out = (fg_capture_ref){c, c->generation};
  return 0;
}

fg_capture* fg_capture_get(fg_capture_ref ref) {
  return ref.capture != NULL && ref.capture->generation == ref.generation ? ref.capture : NULL;
}

static void cut(fg_capture* c, int64_t end_ns) {
  while (c->samples_used > 0 && c->samples[c->samples_used - 1].wall_ns > end_ns) {
    c->samples_used--;
  }
  c->end.wall_ns = end_ns;
  c->end.cpu_ns = c->samples_used ? c->samples[c->samples_used - 1].cpu_ns : c->start.cpu_ns;
}

void fg_capture_stop(fg_capture* c, int64_t end_ns) {
  if (!c->has_timer) {
    return;
  }
  int on_own_thread = c->tid == thread_id();
  int was_running = __atomic_exchange_n(&c->running, 0, __ATOMIC_SEQ_CST);
  timer_delete(c->timer);
  c->has_timer = 0;
  while (__atomic_load_n(&c->handlers, __ATOMIC_SEQ_CST)) {
    sched_yield();  // stopped by another thread in the middle of a tick, which needs no lock to end
  }
  if (was_running) {
    fg_usage usage = on_own_thread ? fg_thread_usage() : c->last;
    end_at(c, &usage, fg_monotonic_ns());
  }
  if (end_ns != 0 && end_ns < c->end.wall_ns) {
    cut(c, end_ns);
  }
  if (on_own_thread && c->unblocked_signal) {
    mask_ticks(SIG_BLOCK);
  }
}

size_t fg_capture_bytes(const fg_capture* c) {
  return c->samples_used * sizeof(fg_sample) +
         c->tree.used * (sizeof(fg_node) + 2 * sizeof(uint32_t)) + c->codes.used * sizeof(fg_code) +
         sizeof(fg_stack);
}

void fg_capture_release(fg_capture* c) {
  fg_capture_stop(c, 0);
  munmap(c->buffer, c->buffer_bytes);
  c->buffer = NULL;
  c->generation++;
  captures--;
}

int fg_captures_exist(void) { return captures != 0; }

int fg_captures_hold(const PyCodeObject* code) {
  for (int i = 0; i < FG_CAPTURES_MAX; i++) {
    if (pool[i].generation % 2 != 0 && fg_code_find(&pool[i].codes, code) != FG_NO_CODE) {
      return 1;
    }
  }
  return 0;
}
