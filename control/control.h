// The control process: everything that is not on the path of a request.
#pragma once

#include <memory>
#include <string>

#include "agent-protocol/token/keys.h"
#include "config/schema/config.h"
#include "control/agent_keys.h"
#include "control/agents_seen.h"
#include "control/api/agent_service.h"
#include "control/api/api_service.h"
#include "control/api/http_server.h"
#include "control/api/services.h"
#include "control/assembly.h"
#include "control/join.h"
#include "control/loop_executor.h"
#include "control/pageviews.h"
#include "control/records.h"
#include "control/store/store.h"
#include "proxy/base/result.h"
#include "proxy/base/thread_pool.h"
#include "proxy/net/event_loop.h"

namespace flamegate::control {

struct ControlOptions {
  // Where the proxy finds control; empty: config's control.address. A unix socket is made with mode
  // 0600.
  std::string socket_path;
  // The proxy that began this process: control ends with it. 0: nobody in particular.
  int parent_pid = 0;
  std::string version;
};

// All of control on one loop, a pool and the store's thread. Members are in the order in which they
// depend on each other.
// Owner: runControl(), or a test. Thread: the loop's.
class Control final : private JoinEvents {
 public:
  // Reads secrets (making those that are absent), opens the store, listens. Blocks.
  static proxy::Result<std::unique_ptr<Control>> create(proxy::EventLoop& loop,
                                                        const config::Config& config,
                                                        const ControlOptions& options);
  ~Control();

  proxy::Address apiAddress() const { return api_server_->address(); }
  proxy::Address agentAddress() const { return agent_server_->address(); }

  // Stops accepting; what is being answered goes on.
  void drain();
  bool idle() const { return api_server_->connections() + agent_server_->connections() == 0; }

 private:
  struct Parts;  // what create() has to make first

  Control(proxy::EventLoop& loop, const config::Config& config, const ControlOptions& options,
          Parts parts);

  void onRecord(const ProfileRecord& record) override;

  LoopExecutor executor_;
  const AgentKeySet agent_keys_;
  const agent::SessionKeyRing session_keys_;
  const std::unique_ptr<proxy::TlsListener> agent_tls_;
  const std::unique_ptr<Store> store_;
  // The pool goes before what its jobs refer to.
  AgentsSeen agents_;
  Pageviews pageviews_;
  std::unique_ptr<proxy::ThreadPool> pool_;
  PoolAssembler assembler_;
  Join join_;
  Records records_;
  AgentService agent_service_;
  ApiServices services_;
  ApiService api_service_;
  std::unique_ptr<HttpServer> agent_server_;
  std::unique_ptr<HttpServer> api_server_;
};

// Runs control until SIGTERM or SIGINT, or until its parent ends. Returns the exit status; errors
// are logged. Call before other threads begin: it blocks the signals it waits for.
int runControl(const config::Config& config, const ControlOptions& options);

}  // namespace flamegate::control
