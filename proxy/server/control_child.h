// The control process, as a child of the proxy.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "proxy/base/result.h"
#include "proxy/net/event_loop.h"

namespace flamegate::proxy {

// Starts the child and starts it again when it ends, after a delay that doubles from 100 ms to 10 s
// and falls back once it has run for a minute.
// Owner: the process. Thread: its main loop's. Ends: terminates the child.
class ControlChild {
 public:
  // `arguments`: what follows the executable's own path.
  ControlChild(EventLoop& loop, std::vector<std::string> arguments);
  ~ControlChild();

  void start();
  // The process got SIGCHLD.
  void onChildSignal();
  // Makes it read its configuration anew: it ends, and is started again at once.
  void restart();
  // Asks it to end and waits up to `patience` before it is killed.
  void stop(Duration patience);

  bool running() const { return pid_ > 0; }
  uint64_t restarts() const { return restarts_; }

 private:
  void spawn();

  EventLoop& loop_;
  const std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  bool stopping_ = false;
  bool restarting_ = false;
  uint64_t restarts_ = 0;
  Duration delay_;
  TimePoint started_;
  Timer respawn_timer_;
};

}  // namespace flamegate::proxy
