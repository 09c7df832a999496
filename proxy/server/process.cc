#include "proxy/server/process.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "config/load/visitors.h"
#include "proxy/base/log.h"
#include "proxy/filters/forwarding.h"
#include "proxy/filters/profiling.h"
#include "proxy/server/cluster_pages.h"
#include "proxy/server/service_manager.h"
#include "proxy/server/snapshot_builder.h"

namespace flamegate::proxy {
namespace {

constexpr int kSignals[] = {SIGHUP, SIGTERM, SIGINT, SIGCHLD, SIGUSR2};
constexpr size_t kReservedFds = 128;
constexpr size_t kRuntimeDirBytesMax = 70;
constexpr Duration kControlPatience = std::chrono::seconds(3);
constexpr size_t kPasswordThreads = 1;
constexpr size_t kPasswordQueueMax = 64;

// As many descriptors as the system allows; the number that client connections may use.
size_t claimDescriptors(const config::Limits& limits) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const size_t usable =
      files.rlim_cur > 2 * kReservedFds ? files.rlim_cur - kReservedFds : files.rlim_cur / 2;
  // Each may need a connection to the application, too.
  const size_t automatic = usable / 2;
  return limits.connections ? std::min<size_t>(*limits.connections, usable) : automatic;
}

void printFaults(const std::vector<config::Fault>& faults) {
  for (const config::Fault& fault : faults) {
    std::fprintf(stderr, "%s\n", config::toText(fault).c_str());
  }
}

sigset_t handledSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kSignals) sigaddset(&set, signal);
  return set;
}

// Whether control works by something that has changed.
bool concernsControl(const config::Config& old, const config::Config& fresh) {
  const auto sameAgents = [](const config::Cluster& a, const config::Cluster& b) {
    return a.name == b.name && a.service == b.service && a.secret_file == b.secret_file;
  };
  return old.control != fresh.control || old.store != fresh.store ||
         old.profiling != fresh.profiling ||
         !std::equal(old.clusters.begin(), old.clusters.end(), fresh.clusters.begin(),
                     fresh.clusters.end(), sameAgents);
}

// A directory that only we can enter, for control's socket.
Result<std::string> makeSocketDir() {
  const char* runtime = std::getenv("RUNTIME_DIRECTORY");
  if (runtime == nullptr) runtime = std::getenv("XDG_RUNTIME_DIR");
  // A socket's path has room for 107 bytes.
  const bool fits = runtime != nullptr && std::strlen(runtime) <= kRuntimeDirBytesMax;
  std::string path = std::string(fits ? runtime : "/tmp") + "/flamegate-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail(ErrorCode::Io, ErrorSource::Internal, path + ": " + std::strerror(errno));
  }
  return path;
}

std::string ownExecutable() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return {path, size > 0 ? static_cast<size_t>(size) : 0};
}

}  // namespace

Process::SignalBlock::SignalBlock() {
  const sigset_t set = handledSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

Process::Process(ProcessOptions options)
    : options_(std::move(options)),
      executable_(ownExecutable()),
      pool_(kPasswordThreads, kPasswordQueueMax),
      profiling_(pool_) {}

Process::~Process() {
  for (auto& worker : workers_) worker->stop();
  workers_.clear();
  // What the last requests left goes to control before that ends.
  control_link_.reset();
  control_.reset();
  if (owns_socket_dir_) {
    ::unlink((socket_dir_ + "/control.sock").c_str());
    ::rmdir(socket_dir_.c_str());
  }
}

int Process::run() {
  auto loading = options_.load();
  if (!loading) {
    printFaults(loading.error());
    return 1;
  }
  printFaults(loading->warnings);
  auto loop = EventLoop::create();
  if (!loop) {
    logError("process", loop.error().detail);
    return 1;
  }
  loop_ = std::move(*loop);
  config::Config config = std::move(loading->config);
  worker_count_ =
      config.workers > 0 ? config.workers : std::max(1U, std::thread::hardware_concurrency());
  shared_.connections_max = claimDescriptors(config.limits);
  if (auto found = findSocketDir(); !found) {
    logError("process", found.error().detail);
    return 1;
  }
  const Address control = *Address::parse("unix:" + socket_dir_ + "/control.sock");
  auto clusters = ClusterBook::create(*loop_, config.dns, worker_count_, control);
  if (!clusters) {
    logError("process", clusters.error().detail);
    return 1;
  }
  clusters_ = std::move(*clusters);
  auto prepared = prepare(std::move(config));
  if (!prepared) {
    logError("config", prepared.error().detail);
    return 1;
  }
  snapshot_ = std::move(prepared->snapshot);
  clusters_->adopt(std::move(prepared->clusters));
  if (auto started = start(); !started) {
    logError("process", started.error().detail);
    return 1;
  }
  announce();
  notifyServiceManager("READY=1");
  loop_->run();
  return 0;
}

// Ours, or that of the process which this one replaces.
Result<> Process::findSocketDir() {
  auto predecessor = Predecessor::find();
  if (!predecessor) return fail(std::move(predecessor.error()));
  predecessor_ = std::move(*predecessor);
  if (predecessor_ != nullptr) {
    socket_dir_ = predecessor_->socketDir();
    return {};
  }
  auto made = makeSocketDir();
  if (!made) return fail(std::move(made.error()));
  socket_dir_ = std::move(*made);
  owns_socket_dir_ = true;
  return {};
}

Result<Process::Prepared> Process::prepare(config::Config config) {
  auto keepers = clusters_->prepare(config.clusters);
  if (!keepers) return fail(std::move(keepers.error()));
  auto snapshot = buildSnapshot(std::move(config), clusters_->upstreams(*keepers), tls_tickets_);
  if (!snapshot) return fail(std::move(snapshot.error()));
  return Prepared{std::move(*snapshot), std::move(*keepers)};
}

Result<> Process::start() {
  if (auto watched = watchSignals(); !watched) return watched;
  auto log = AccessLogFile::create(snapshot_->config.access_log);
  if (!log) return fail(std::move(log.error()));
  access_log_ = std::move(*log);
  shared_.access_log = access_log_.get();
  if (snapshot_->config.admin.address) shared_.traffic = &traffic_;
  shared_.make_filters = [this](const Snapshot& snapshot,
                                std::vector<std::unique_ptr<Filter>>& filters) {
    if (snapshot.profiling->enabled()) {
      filters.push_back(makeProfilingFilter(*snapshot.profiling, profiling_));
    }
    filters.push_back(makeForwardingFilter());
    filters.push_back(makeHeaderEditsFilter());
  };
  startControl();
  sockets_ = std::make_unique<ListenSockets>(worker_count_, takeInheritedSockets());
  if (predecessor_ != nullptr) sockets_->adopt(predecessor_->takeSockets());
  if (auto opened = sockets_->open(snapshot_->config.listeners); !opened) return opened;
  if (auto started = startWorkers(snapshot_); !started) return started;
  auto renewal = TlsRenewal::create(*loop_);
  if (!renewal) return fail(std::move(renewal.error()));
  tls_renewal_ = std::move(*renewal);
  tls_renewal_->watch(snapshot_);
  if (auto started = startAdmin(); !started) return started;
  sockets_->closeOthers(snapshot_->config.listeners);
  if (predecessor_ == nullptr) return {};
  return predecessor_->relieve(*loop_, [this] {
    owns_socket_dir_ = true;
    control_->start();
    loop_->post([this] {
      predecessor_.reset();
      if (upgrade_wanted_) upgrade();
    });
  });
}

// Requests are only served once control has been seen, so that the first ones can be profiled; but
// without it they are served all the same.
void Process::startControl() {
  std::vector<std::string> arguments = options_.control_arguments;
  arguments.insert(arguments.end(), {"--socket", socket_dir_ + "/control.sock"});
  control_ = std::make_unique<ControlChild>(*loop_, std::move(arguments));
  if (predecessor_ == nullptr) control_->start();
  control_link_ = std::make_unique<ControlLink>(
      profiling_, *Address::parse("unix:" + socket_dir_ + "/control.sock"),
      snapshot_->profiling->sessionKeys().current());
  if (snapshot_->profiling->enabled()) profiling_.control.awaitContact(kControlPatience);
}

Result<> Process::startWorkers(std::shared_ptr<const Snapshot> snapshot) {
  for (size_t i = 0; i < worker_count_; ++i) {
    auto worker = Worker::create(shared_);
    if (!worker) return fail(std::move(worker.error()));
    auto fds = sockets_->duplicate(snapshot->config.listeners, i);
    if (!fds) return fail(std::move(fds.error()));
    (*worker)->apply(snapshot, std::move(*fds));
    workers_.push_back(std::move(*worker));
  }
  for (auto& worker : workers_) worker->start();
  return {};
}

Result<> Process::watchSignals() {
  const sigset_t set = handledSignals();
  signal_fd_.reset(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  return loop_->watchLevel(
      signal_fd_.get(), signal_watch_,
      [](void* self, short) { static_cast<Process*>(self)->onSignal(); }, this);
}

void Process::onSignal() {
  signalfd_siginfo info{};
  while (::read(signal_fd_.get(), &info, sizeof info) == sizeof info) {
    switch (info.ssi_signo) {
      case SIGHUP:
        if (draining_) break;
        notifyServiceManager("RELOADING=1");
        reload();
        notifyServiceManager("READY=1");
        break;
      case SIGCHLD:
        control_->onChildSignal();
        break;
      case SIGUSR2:
        upgrade();
        break;
      default:
        if (draining_) {
          loop_->stop();
        } else {
          drain();
        }
    }
  }
}

// ---- Reload and drain ---------------------------------------------------------------------------

void Process::reload() {
  const auto refuse = [this](std::string_view why) {
    ++reloads_failed_;
    logError("config", "reload refused, the old configuration stays: " + std::string(why));
  };
  auto loading = options_.load();
  if (!loading) {
    printFaults(loading.error());
    refuse(config::toText(loading.error().front()));
    return;
  }
  printFaults(loading->warnings);
  auto prepared = prepare(std::move(loading->config));
  if (!prepared) return refuse(prepared.error().detail);
  const std::shared_ptr<const Snapshot>& snapshot = prepared->snapshot;
  const auto& listeners = snapshot->config.listeners;
  if (auto opened = sockets_->open(listeners); !opened) return refuse(opened.error().detail);
  std::vector<std::vector<ListeningFd>> fds;
  for (size_t i = 0; i < worker_count_; ++i) {
    auto duplicates = sockets_->duplicate(listeners, i);
    if (!duplicates) return refuse(duplicates.error().detail);
    fds.push_back(std::move(*duplicates));
  }
  const config::Config& old = snapshot_->config;
  const config::Config& fresh = snapshot->config;
  const bool control_changed = concernsControl(old, fresh);
  for (size_t i = 0; i < worker_count_; ++i) workers_[i]->apply(snapshot, std::move(fds[i]));
  snapshot_ = snapshot;
  clusters_->adopt(std::move(prepared->clusters));
  tls_renewal_->watch(snapshot_);
  sockets_->closeOthers(listeners);
  control_link_->setKeys(snapshot_->profiling->sessionKeys().current());
  if (control_changed) control_->restart();
  ++reloads_;
  logInfo("config", "reloaded");
}

void Process::drain() {
  draining_ = true;
  logInfo("process", "draining");
  if (owns_socket_dir_ || successor_ == nullptr) {
    notifyServiceManager("STOPPING=1");
    // One that is not ready yet is to end with this process.
    if (successor_ != nullptr) loop_->post([this] { successor_.reset(); });
  }
  sockets_.reset();
  drain_timer_ = std::make_unique<Timer>(
      loop_->timers(), [](void* self) { static_cast<Process*>(self)->loop_->stop(); }, this);
  drain_timer_->arm(loop_->now() + Duration(snapshot_->config.shutdown.drain));
  for (auto& worker : workers_) {
    worker->drain([this] { loop_->post([this] { finishIfDrained(); }); });
  }
}

void Process::finishIfDrained() {
  if (++workers_drained_ == workers_.size()) loop_->stop();
}

// ---- Upgrade ------------------------------------------------------------------------------------

void Process::upgrade() {
  upgrade_wanted_ = predecessor_ != nullptr;  // first this one has to be what it replaces
  if (upgrade_wanted_ || draining_ || successor_ != nullptr) return;
  logInfo("process", "starting " + executable_ + " to take over");
  if (auto started = startSuccessor()) {
    successor_ = std::move(*started);
  } else {
    ++upgrades_failed_;
    logError("process", "no upgrade, this process goes on: " + started.error().detail);
  }
}

Result<std::unique_ptr<Successor>> Process::startSuccessor() {
  auto sockets = sockets_->share();
  if (!sockets) return fail(std::move(sockets.error()));
  return Successor::start(
      *loop_, {executable_, options_.command_line, std::move(*sockets), socket_dir_},
      {.ready = [this] { yieldToSuccessor(); },
       .failed =
           [this](std::string_view why) {
             ++upgrades_failed_;
             logError("process", "no upgrade, this process goes on: " + std::string(why));
             loop_->post([this] { successor_.reset(); });
           }});
}

// Control's store and addresses are its next owner's before the last connections have ended; what
// they still record goes to the new control through the same socket.
void Process::yieldToSuccessor() {
  if (draining_) return;
  notifyServiceManager("MAINPID=" + std::to_string(successor_->pid()));
  owns_socket_dir_ = false;
  admin_.reset();
  control_->stop(kControlPatience);
  successor_->confirm();
  drain();
}

// ---- What it tells ------------------------------------------------------------------------------

void Process::announce() const {
  for (const config::Listener& listener : snapshot_->config.listeners) {
    logInfo("proxy",
            "listening on " + sockets_->boundTo(listener) + (listener.tls ? " (TLS)" : ""));
  }
  if (admin_ != nullptr) logInfo("admin", "listening on " + admin_->address().toString());
  if (!options_.explain_agents) return;
  const config::Config& config = snapshot_->config;
  logInfo("profiling",
          "to attach the Python agent, start the application as: FLAMEGATE_SECRET_FILE=" +
              config.profiling.secret_file + " FLAMEGATE_SERVICE=" + config.clusters[0].service +
              " FLAMEGATE_URL=http://" + config::formatAddress(config.control.agents.address) +
              " python3 -m flamegate gunicorn ...");
  logInfo("profiling", "then add ?pp=async-flamegraph to a URL; profiles are listed at " +
                           config.profiling.prefix + "/profiles");
}

Result<> Process::startAdmin() {
  if (!snapshot_->config.admin.address) return {};
  auto fd = sockets_->openAdmin(*snapshot_->config.admin.address);
  if (!fd) return fail(std::move(fd.error()));
  auto admin = AdminServer::create(*loop_, std::move(*fd), adminPages());
  if (!admin) return fail(std::move(admin.error()));
  admin_ = std::move(*admin);
  return {};
}

AdminServer::Pages Process::adminPages() {
  AdminServer::Pages pages;
  pages["/live"] = [] { return AdminPage{.body = "live\n"}; };
  pages["/ready"] = [this] {
    return draining_ ? AdminPage{.status = 503, .body = "draining\n"}
                     : AdminPage{.body = "ready\n"};
  };
  pages["/metrics"] = [this] {
    return AdminPage{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = metricsText()};
  };
  pages["/config"] = [this] {
    return AdminPage{.content_type = "application/json",
                     .body = config::describe(snapshot_->config) + "\n"};
  };
  pages["/profiling"] = [this] {
    MetricsText out;
    appendProfilingMetrics(out);
    return AdminPage{.body = out.text()};
  };
  pages["/clusters"] = [this] { return AdminPage{.body = clustersText(clusters_->keepers())}; };
  pages["/clusters?format=json"] = [this] {
    return AdminPage{.content_type = "application/json",
                     .body = clustersJson(clusters_->keepers())};
  };
  return pages;
}

std::string Process::metricsText() const {
  MetricsText out;
  appendProcessMetrics(started_ms_, out);
  std::vector<const WorkerCounters*> counters;
  for (const auto& worker : workers_) counters.push_back(&worker->counters());
  appendWorkerMetrics(counters, out);
  appendTrafficMetrics(traffic_.totals(), out);
  out.family("flamegate_reloads_total", "counter", "Configurations put in force by SIGHUP.");
  out.sample(reloads_);
  out.family("flamegate_reloads_failed_total", "counter", "Configurations that SIGHUP refused.");
  out.sample(reloads_failed_);
  out.family("flamegate_upgrades_failed_total", "counter",
             "New executables that did not take over (SIGUSR2).");
  out.sample(upgrades_failed_);
  out.family("flamegate_control_up", "gauge", "Whether the control process runs.");
  out.sample(control_->running() ? 1 : 0);
  out.family("flamegate_control_restarts_total", "counter",
             "How often the control process ended by itself.");
  out.sample(control_->restarts());
  tls_renewal_->appendMetrics(out);
  appendClusterMetrics(clusters_->keepers(), out);
  appendProfilingMetrics(out);
  return out.text();
}

void Process::appendProfilingMetrics(MetricsText& out) const {
  const ProfilingCounters& counters = profiling_.counters;
  out.family("flamegate_captures_total", "counter", "Requests that were admitted to be profiled.");
  out.sample(counters.captures.load());
  out.family("flamegate_profiles_announced_total", "counter",
             "Responses that carry the id of their profile.");
  out.sample(counters.announced.load());
  out.family("flamegate_profiles_skipped_total", "counter",
             "Requests that asked for a profile and got none, by reason.");
  for (size_t i = 0; i < counters.skipped.size(); ++i) {
    const std::string_view name = skipReasonName(static_cast<SkipReason>(i));
    out.sample(counters.skipped[i].load(), "reason=\"" + std::string(name) + "\"");
  }
  out.family("flamegate_badges_total", "counter", "Pages that the badge was to be appended to.");
  out.sample(counters.badges.load());
  out.family("flamegate_capture_records_waiting", "gauge", "Records that wait for control.");
  out.sample(profiling_.sink.lines());
  out.family("flamegate_capture_records_dropped_total", "counter",
             "Records that were dropped because control took none for too long.");
  out.sample(profiling_.sink.dropped());
}

}  // namespace flamegate::proxy
