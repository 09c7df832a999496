// The signal that carries the ticks.
#ifndef FLAMEGATE_NATIVE_TICK_SIGNAL_H
#define FLAMEGATE_NATIVE_TICK_SIGNAL_H

#include <signal.h>

// Installs `handler` for a signal that nobody uses, once, and again for another one when the
// application has taken that signal since. Returns its number, 0 when none is free. The handler
// stays for good: a late tick must never meet the default action. The caller holds the interpreter
// lock.
int fg_tick_signal(void (*handler)(int, siginfo_t*, void*));

#endif
