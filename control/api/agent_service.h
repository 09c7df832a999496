// What agents and other profilers talk to: uploads, hellos, health.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "control/agent_keys.h"
#include "control/agents_seen.h"
#include "control/api/http_app.h"
#include "control/api/upload_check.h"
#include "control/api/upload_stats.h"
#include "control/executor.h"
#include "control/join.h"
#include "proxy/base/thread_pool.h"

namespace flamegate::control {

// The app of the agents' listener. Browsers have no business here: whatever carries Origin or
// Sec-Fetch-Site is refused, and no CORS field is ever sent.
// Owner: control's main. Thread: control's. Ends: after its server and the pool.
class AgentService final : public HttpApp {
 public:
  static constexpr size_t kBodiesMax = 64;            // unverified, at once
  static constexpr size_t kBodyBytesMax = 64u << 20;  // of them together
  static constexpr size_t kHelloBytesMax = 64u << 10;
  static constexpr size_t kHellosMax = 1'024;  // held at once; beyond: told to come later
  static constexpr Millis kHelloHeld{45'000};  // agents are promised 50 s at most

  AgentService(Executor& executor, proxy::ThreadPool& pool, Join& join, AgentsSeen& agents,
               const AgentKeySet& keys)
      : executor_(executor), pool_(pool), join_(join), agents_(agents), keys_(keys) {}
  ~AgentService();

  HeadVerdict onHead(const HttpRequest& head) override;
  void onRequest(HttpRequest request, Responder respond) override;

  const UploadStats& stats();

 private:
  struct UploadJob;

  HeadVerdict judgeUpload(const HttpRequest& head, std::string_view path);
  HeadVerdict judgeHello(const HttpRequest& head);
  void upload(HttpRequest request, Responder respond);
  void onChecked(const std::shared_ptr<UploadJob>& job);
  void answerUpload(const Responder& respond, ApiResponse response);
  void hello(HttpRequest request, Responder respond);
  void holdHello(std::string nonce, const agent::AgentKeys& keys, Responder respond);
  int64_t nowMs() const { return executor_.wallNow().time_since_epoch().count(); }

  Executor& executor_;
  proxy::ThreadPool& pool_;
  Join& join_;
  AgentsSeen& agents_;
  const AgentKeySet& keys_;
  BodyBudget budget_{kBodiesMax, kBodyBytesMax};
  UploadStats stats_;
  uint64_t last_hello_ = 0;
  std::unordered_map<uint64_t, Executor::TimerId> hellos_;
};

}  // namespace flamegate::control
