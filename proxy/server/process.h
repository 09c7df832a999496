// `flamegate run`: the proxy's process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "proxy/server/admin.h"
#include "proxy/profiling/runtime.h"
#include "proxy/server/control_child.h"
#include "proxy/server/control_link.h"
#include "proxy/server/listen_sockets.h"
#include "proxy/server/metrics.h"
#include "proxy/server/worker.h"

namespace flamegate::proxy {

struct ProcessOptions {
  // Reads the configuration: at the start and on SIGHUP.
  std::function<config::Loading()> load;
  // Arguments that make the control process read the same configuration; "--socket PATH" is added.
  std::vector<std::string> control_arguments;
  // Say at the start how an agent is attached.
  bool explain_agents = false;
};

// Takes signals by descriptor, owns workers, listening sockets and the control child.
// SIGHUP: reload; a configuration that cannot be used is refused and the old one stays. SIGTERM,
// SIGINT: drain, then end; a second one ends at once.
// Owner: main(). Thread: the main one.
class Process {
  // Signals are blocked before the first thread begins, so that they reach the descriptor alone.
  struct SignalBlock {
    SignalBlock();
  };

 public:
  explicit Process(ProcessOptions options);
  ~Process();

  // Runs until told to end; the exit status.
  int run();

 private:
  Result<> start();
  Result<> startWorkers(std::shared_ptr<const Snapshot> snapshot);
  void startControl();
  Result<> startAdmin();
  Result<> watchSignals();
  void onSignal();
  void reload();
  void drain();
  void finishIfDrained();
  void announce() const;
  AdminServer::Pages adminPages();
  std::string metricsText() const;
  std::string clustersText() const;
  void appendProfilingMetrics(MetricsText& out) const;

  SignalBlock signal_block_;
  ProcessOptions options_;
  std::unique_ptr<EventLoop> loop_;
  UniqueFd signal_fd_;
  Watch signal_watch_;
  size_t worker_count_ = 1;
  std::string socket_dir_;  // holds control's socket
  const std::shared_ptr<TlsTicketKeys> tls_tickets_ = std::make_shared<TlsTicketKeys>();
  std::shared_ptr<const Snapshot> snapshot_;
  std::unique_ptr<ListenSockets> sockets_;
  std::unique_ptr<AccessLogFile> access_log_;
  ThreadPool pool_;
  ProfilingRuntime profiling_;
  WorkerShared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<ControlChild> control_;
  std::unique_ptr<ControlLink> control_link_;
  std::unique_ptr<Timer> drain_timer_;
  size_t workers_drained_ = 0;
  uint64_t reloads_ = 0;
  uint64_t reloads_failed_ = 0;
  bool draining_ = false;
};

}  // namespace flamegate::proxy
