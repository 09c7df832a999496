#include "tick_signal.h"

#include <string.h>

static int claimed;

static int is_free(int number) {
  struct sigaction current;
  return sigaction(number, NULL, &current) == 0 && !(current.sa_flags & SA_SIGINFO) &&
         current.sa_handler == SIG_DFL;
}

static int is_ours(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction current;
  return sigaction(number, NULL, &current) == 0 && (current.sa_flags & SA_SIGINFO) &&
         current.sa_sigaction == handler;
}

static int claim(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (!is_free(number) || sigaction(number, &action, NULL) != 0) {
    return 0;
  }
  claimed = number;
  return 1;
}

int fg_tick_signal(void (*handler)(int, siginfo_t*, void*)) {
  if (claimed != 0 && is_ours(claimed, handler)) {
    return claimed;
  }
  // SIGURG first: it is ignored by default, so a tick that is pending while the process executes
  // another program cannot end that program, as a real-time signal would.
  if (claim(SIGURG, handler)) {
    return claimed;
  }
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--) {
    if (claim(number, handler)) {
      return claimed;
    }
  }
  return 0;
}
