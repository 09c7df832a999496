// What the resources of the API work with.
#pragma once

#include <string>

#include "control/agents_seen.h"
#include "control/executor.h"
#include "control/join.h"
#include "control/pageviews.h"
#include "control/records.h"
#include "control/store/store.h"
#include "proxy/base/thread_pool.h"
#include "ui/assets.h"

namespace flamegate::control {

class AgentService;

// References to what control's main owns. Thread: control's.
struct ApiServices {
  Executor& executor;
  Store& store;
  proxy::ThreadPool& pool;
  Join& join;
  Records& records;
  Pageviews& pageviews;
  AgentsSeen& agents;
  AgentService& uploads;
  std::string prefix;         // "/__flamegate"
  std::string public_origin;  // of profiling.public_url; empty: not configured
  std::string version;
  ui::ConsolePage page;
};

}  // namespace flamegate::control
