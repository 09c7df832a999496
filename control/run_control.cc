// The main loop of the control process.
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "control/control.h"
#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::logError;
using proxy::logInfo;
using proxy::Result;

constexpr Millis kDrainTime{5'000};  // for answers that are owed
constexpr Millis kDrainLook{50};

// Blocks the signals that end or reload a process and turns them into a readable descriptor.
Result<proxy::UniqueFd> takeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  proxy::UniqueFd fd(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) {
    return proxy::fail(proxy::ErrorCode::Io, proxy::ErrorSource::Internal, std::strerror(errno));
  }
  return fd;
}

// False when the parent has gone already.
bool followParent(int parent_pid) {
  if (parent_pid == 0) return true;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return getppid() == parent_pid;
}

// Ends the loop: at once the second time, after a drain the first.
// Owner: runControl(). Thread: the loop's.
class Stopper {
 public:
  Stopper(proxy::EventLoop& loop, Control& control, int signal_fd)
      : loop_(loop), executor_(loop), control_(control), signal_fd_(signal_fd) {}
  ~Stopper() { executor_.cancel(timer_); }

  Result<> start() {
    return loop_.watchLevel(
        signal_fd_, watch_, [](void* self, short) { static_cast<Stopper*>(self)->onSignal(); },
        this);
  }

 private:
  void onSignal() {
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGHUP) return;  // the supervisor starts a new process for a new file
    if (stopping_) {
      loop_.stop();
      return;
    }
    stopping_ = true;
    deadline_ = executor_.monoNow() + kDrainTime;
    control_.drain();
    look();
  }

  void look() {
    if (control_.idle() || deadline_ <= executor_.monoNow()) {
      loop_.stop();
      return;
    }
    timer_ = executor_.runAfter(kDrainLook, [this] { look(); });
  }

  proxy::EventLoop& loop_;
  LoopExecutor executor_;
  Control& control_;
  const int signal_fd_;
  proxy::Watch watch_;
  bool stopping_ = false;
  proxy::TimePoint deadline_;
  Executor::TimerId timer_ = Executor::kNoTimer;
};

int failed(const proxy::Error& error) {
  logError("control", error.detail);
  return 1;
}

}  // namespace

int runControl(const config::Config& config, const ControlOptions& options) {
  if (!followParent(options.parent_pid)) return 0;
  Result<proxy::UniqueFd> signals = takeSignals();
  if (!signals) return failed(signals.error());
  Result<std::unique_ptr<proxy::EventLoop>> loop = proxy::EventLoop::create();
  if (!loop) return failed(loop.error());
  Result<std::unique_ptr<Control>> control = Control::create(**loop, config, options);
  if (!control) return failed(control.error());
  Stopper stopper(**loop, **control, signals->get());
  if (Result<> started = stopper.start(); !started) return failed(started.error());
  logInfo("control", "agents upload to " + (*control)->agentAddress().toString());
  (*loop)->run();
  return 0;
}

}  // namespace flamegate::control
