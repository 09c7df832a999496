// SIGUSR2: the new executable takes over the listening sockets of a running process, which then
// drains.
//
// The two talk over a socket pair, one packet a message:
//   old to new   sockets and their keys; "dir PATH"; "end"
//   new to old   "ready": it accepts connections
//   old to new   "control": our control process has ended, yours can have its store and its
//   addresses
// A successor that ends before "ready" changes nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "proxy/base/fd.h"
#include "proxy/base/result.h"
#include "proxy/net/event_loop.h"
#include "proxy/server/listen_sockets.h"

namespace flamegate::proxy {

// The old process's view of the new one.
// Owner: the process. Thread: its main loop's. Ends: kills a successor that is not ready yet.
class Successor {
 public:
  struct Plan {
    std::string executable;              // its path
    std::vector<std::string> arguments;  // the whole argv
    std::vector<NamedSocket> sockets;    // duplicates that are sent and closed
    std::string socket_dir;  // of control's socket; belongs to the successor once it is ready
  };
  struct Events {
    std::function<void()> ready;
    std::function<void(std::string_view why)> failed;  // it ended, or was not ready within a minute
  };

  // Events come later, and at most one of them. Errors: Io (it cannot be started).
  static Result<std::unique_ptr<Successor>> start(EventLoop& loop, Plan plan, Events events);
  ~Successor();

  pid_t pid() const { return pid_; }
  // After ready(): our control process has ended.
  void confirm();

 private:
  Successor(EventLoop& loop, Events events);
  Result<> spawn(const Plan& plan, int channel);
  Result<> hand(const Plan& plan);
  void onChannel();
  void fail(std::string_view why);

  EventLoop& loop_;
  Events events_;
  UniqueFd channel_;
  Watch watch_;
  Timer patience_;
  pid_t pid_ = -1;
  bool ready_ = false;
};

// The new process's view of the old one.
// Owner: the process. Thread: its main loop's.
class Predecessor {
 public:
  // Takes what a predecessor hands over; null when this process was not started by one. Blocks
  // until all is there. Errors: Io (the predecessor has ended).
  static Result<std::unique_ptr<Predecessor>> find();

  std::vector<NamedSocket> takeSockets() { return std::move(sockets_); }
  const std::string& socketDir() const { return socket_dir_; }
  // Says that this process serves; `done` is called when the old control process has ended.
  Result<> relieve(EventLoop& loop, std::function<void()> done);

 private:
  Predecessor() = default;
  Result<> receive();
  void onChannel();

  UniqueFd channel_;
  Watch watch_;
  std::vector<NamedSocket> sockets_;
  std::string socket_dir_;
  std::function<void()> done_;
};

}  // namespace flamegate::proxy
