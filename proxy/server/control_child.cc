#include "proxy/server/control_child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

constexpr Duration kDelayMin = std::chrono::milliseconds(100);
constexpr Duration kDelayMax = std::chrono::seconds(10);
constexpr Duration kStableTime = std::chrono::minutes(1);

std::string describeEnd(int status) {
  if (WIFSIGNALED(status)) return std::string("signal ") + strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ControlChild::ControlChild(EventLoop& loop, std::vector<std::string> arguments)
    : loop_(loop),
      arguments_(std::move(arguments)),
      delay_(kDelayMin),
      respawn_timer_(loop.timers(), [](void* self) { static_cast<ControlChild*>(self)->spawn(); },
                     this) {}

ControlChild::~ControlChild() { stop(std::chrono::seconds(5)); }

void ControlChild::start() { spawn(); }

void ControlChild::spawn() {
  std::vector<char*> argv;
  std::string name = "flamegate";
  argv.push_back(name.data());
  for (const std::string& argument : arguments_) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // The child gets a clean slate: this process blocks the signals that it takes by descriptor.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawn(&pid_, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  started_ = loop_.now();
  if (error == 0) return;
  pid_ = -1;
  logError("control", std::string("cannot be started: ") + std::strerror(error));
  respawn_timer_.arm(loop_.now() + delay_);
}

void ControlChild::onChildSignal() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  if (stopping_) return;
  if (std::exchange(restarting_, false)) {
    spawn();
    return;
  }
  ++restarts_;
  delay_ = loop_.now() - started_ > kStableTime ? kDelayMin : std::min(2 * delay_, kDelayMax);
  logWarning("control", "ended with " + describeEnd(status) + "; starting it again");
  respawn_timer_.arm(loop_.now() + delay_);
}

void ControlChild::restart() {
  if (pid_ <= 0) return;
  restarting_ = true;
  ::kill(pid_, SIGTERM);
}

void ControlChild::stop(Duration patience) {
  stopping_ = true;
  respawn_timer_.disarm();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const TimePoint deadline = monotonicNow() + patience;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (monotonicNow() > deadline) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      break;
    }
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  pid_ = -1;
}

}  // namespace flamegate::proxy
