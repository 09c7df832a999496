// `flamegate run`: the proxy's process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "proxy/profiling/runtime.h"
#include "proxy/server/admin.h"
#include "proxy/server/cluster_keeper.h"
#include "proxy/server/control_child.h"
#include "proxy/server/control_link.h"
#include "proxy/server/listen_sockets.h"
#include "proxy/server/metrics.h"
#include "proxy/server/tls_renewal.h"
#include "proxy/server/upgrade.h"
#include "proxy/server/worker.h"

namespace flamegate::proxy {

struct ProcessOptions {
  // Reads the configuration: at the start and on SIGHUP.
  std::function<config::Loading()> load;
  // Arguments that make the control process read the same configuration; "--socket PATH" is added.
  std::vector<std::string> control_arguments;
  // The whole command line, for a new executable that takes over (SIGUSR2).
  std::vector<std::string> command_line;
  // Say at the start how an agent is attached.
  bool explain_agents = false;
};

// Takes signals by descriptor, owns workers, listening sockets and the control child.
// SIGHUP: reload; a configuration that cannot be used is refused and the old one stays. SIGTERM,
// SIGINT: drain, then end; a second one ends at once. SIGUSR2: the executable at the path of this
// one takes over (proxy/server/upgrade.h). Owner: main(). Thread: the main one.
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
  // A configuration that can be put in force.
  struct Prepared {
    std::shared_ptr<const Snapshot> snapshot;
    ClusterKeepers clusters;
  };
  Result<Prepared> prepare(config::Config config);
  Result<> start();
  Result<> findSocketDir();
  Result<> startWorkers(std::shared_ptr<const Snapshot> snapshot);
  void startControl();
  Result<> startAdmin();
  Result<> watchSignals();
  void onSignal();
  void reload();
  void drain();
  void finishIfDrained();
  void upgrade();
  Result<std::unique_ptr<Successor>> startSuccessor();
  void yieldToSuccessor();
  void announce() const;
  AdminServer::Pages adminPages();
  std::string metricsText() const;
  void appendProfilingMetrics(MetricsText& out) const;

  SignalBlock signal_block_;
  ProcessOptions options_;
  std::unique_ptr<EventLoop> loop_;
  UniqueFd signal_fd_;
  Watch signal_watch_;
  size_t worker_count_ = 1;
  const uint64_t started_ms_ = static_cast<uint64_t>(unixMillis());
  const std::string executable_;              // its path when this process began
  std::unique_ptr<Predecessor> predecessor_;  // until it is relieved
  std::unique_ptr<Successor> successor_;
  std::string socket_dir_;  // holds control's socket
  bool owns_socket_dir_ = false;
  const std::shared_ptr<TlsTicketKeys> tls_tickets_ = std::make_shared<TlsTicketKeys>();
  std::unique_ptr<ClusterBook> clusters_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::unique_ptr<ListenSockets> sockets_;
  std::unique_ptr<AccessLogFile> access_log_;
  ThreadPool pool_;
  ProfilingRuntime profiling_;
  TrafficRegistry traffic_;
  WorkerShared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<TlsRenewal> tls_renewal_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<ControlChild> control_;
  std::unique_ptr<ControlLink> control_link_;
  std::unique_ptr<Timer> drain_timer_;
  size_t workers_drained_ = 0;
  uint64_t reloads_ = 0;
  uint64_t reloads_failed_ = 0;
  uint64_t upgrades_failed_ = 0;
  bool draining_ = false;
  bool upgrade_wanted_ = false;
};

}  // namespace flamegate::proxy
