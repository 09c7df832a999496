// Carries capture records to control and learns from it what every proxy has to know.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent-protocol/token/keys.h"
#include "proxy/base/fd.h"
#include "proxy/net/address.h"
#include "proxy/profiling/runtime.h"

namespace flamegate::proxy {

// A thread of its own with one blocking connection, so that no worker ever waits for control. Records go
// out as soon as there are any; rules and health are asked for once a second, 50 times a second while
// control is away.
// Owner: the process. Ends: the destructor tells the thread to end and joins it.
class ControlLink {
 public:
  ControlLink(ProfilingRuntime& runtime, const Address& control, const agent::SessionKeys& keys);
  ~ControlLink();

  // Keys of a new configuration. Thread: any.
  void setKeys(const agent::SessionKeys& keys);

 private:
  struct Reply {
    uint16_t status = 0;  // 0: none came
    std::string body;
  };

  void run();
  bool sendRecords(const std::string& lines);
  void askRules();
  void note(ControlHealth::State state, std::string_view why);
  Reply call(std::string_view method, std::string_view target, std::string_view body);
  Reply callOnce(const std::string& request);
  bool connect();
  bool sendAll(std::string_view bytes);
  Reply receive();

  ProfilingRuntime& runtime_;
  const Address control_;
  std::mutex keys_mutex_;
  agent::SessionKeys keys_;  // guarded by keys_mutex_
  UniqueFd fd_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace flamegate::proxy
