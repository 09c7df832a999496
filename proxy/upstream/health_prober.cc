#include "proxy/upstream/health_prober.h"

#include <algorithm>
#include <utility>

#include "proxy/base/log.h"

namespace flamegate::proxy {

// What is done for one endpoint: waiting, or one probe under way.
class HealthProber::Probe final : private ClientSessionOwner, private ClientStreamEvents {
 public:
  Probe(HealthProber& prober, std::shared_ptr<Endpoint> endpoint)
      : prober_(prober),
        endpoint_(std::move(endpoint)),
        timer_(
            prober.context_.loop.timers(), [](void* self) { static_cast<Probe*>(self)->onTimer(); },
            this) {
    host_ = endpoint_->server().empty() ? "localhost" : endpoint_->server();
    if (!endpoint_->address().isUnix()) {
      if (host_.find(':') != std::string::npos) host_ = "[" + host_ + "]";
      host_ += ":" + std::to_string(endpoint_->address().port());
    }
    timer_.arm(loop().now());
  }
  ~Probe() { endSession(); }

  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }

 private:
  EventLoop& loop() { return prober_.context_.loop; }
  const Options& options() const { return prober_.options_; }

  void onTimer() {
    if (session_ != nullptr) {
      conclude(false, "timeout");
    } else {
      begin();
    }
  }

  void begin() {
    auto made = prober_.cluster_.options().connector.connect(prober_.context_, endpoint_->address(),
                                                             endpoint_->server(), nullptr, *this);
    if (!made) return conclude(false, made.error().detail);
    session_ = std::move(*made);
    timer_.arm(loop().now() + options().timeout);
    if (session_->streamsFree() > 0) send();
  }

  void send() {
    stream_ = &session_->begin(*this);
    RequestHead head;
    head.method_text = "GET";
    head.target = options().path;
    head.authority = host_;
    head.fields.add("Host", host_, HeaderId::Host);
    head.fields.add("User-Agent", "flamegate-health");
    stream_->sendHead(head);
    stream_->sendEnd(nullptr);
    onUpstreamReady();
  }

  void onUpstreamReady() override {
    stream_->flush();
    while (stream_->readHead()) {
      const ResponseHead& head = stream_->response();
      if (head.interim()) continue;
      const uint16_t status = head.status;
      conclude(status >= options().status_first && status <= options().status_last,
               std::to_string(status));
      return;
    }
    if (stream_->failure() != nullptr) conclude(false, stream_->failure()->detail);
  }

  void onSessionLost(ClientSession&, const Error* why) override {
    conclude(false, why != nullptr ? why->detail : "closed");
  }
  void onStreamsFree(ClientSession&) override {
    if (stream_ == nullptr) send();
  }
  void onSessionReplaced(ClientSession&, std::unique_ptr<ClientSession> made) override {
    endSession();
    session_ = std::move(made);
    if (session_->streamsFree() > 0) send();
  }

  void endSession() {
    if (session_ == nullptr) return;
    if (stream_ != nullptr) session_->end(*std::exchange(stream_, nullptr));
    session_->retire();
    loop().deleteLater(std::move(session_));
  }

  void conclude(bool good, std::string outcome) {
    endSession();
    successes_ = good ? successes_ + 1 : 0;
    failures_ = good ? 0 : failures_ + 1;
    const bool was_healthy = endpoint_->healthy();
    if (!was_healthy && successes_ >= options().healthy) {
      endpoint_->setHealthy(true, loop().now());
      log("healthy again", outcome);
    } else if (was_healthy && failures_ >= options().unhealthy) {
      endpoint_->setHealthy(false, loop().now());
      log("unhealthy", outcome);
    }
    endpoint_->noteCheck({.at_ms = unixMillis(), .outcome = std::move(outcome)});
    timer_.arm(loop().now() + options().interval);
  }

  void log(const char* what, const std::string& outcome) const {
    logWarning("health", prober_.cluster_.options().name + ": " + endpoint_->name() + " is " +
                             what + " (" + outcome + ")");
  }

  HealthProber& prober_;
  const std::shared_ptr<Endpoint> endpoint_;
  std::string host_;
  Timer timer_;  // of the next probe, or of the deadline of this one
  std::unique_ptr<ClientSession> session_;
  ClientStream* stream_ = nullptr;
  uint32_t successes_ = 0;  // in a row
  uint32_t failures_ = 0;
};

HealthProber::HealthProber(ClientSessionContext& context, Cluster& cluster, Options options)
    : context_(context), cluster_(cluster), options_(std::move(options)) {
  refresh();
}

HealthProber::~HealthProber() = default;

void HealthProber::refresh() {
  auto old = std::exchange(probes_, {});
  for (const auto& endpoint : cluster_.endpoints()->endpoints) {
    const auto kept = std::find_if(old.begin(), old.end(), [&](const auto& probe) {
      return probe != nullptr && probe->endpoint() == endpoint;
    });
    probes_.push_back(kept != old.end() ? std::move(*kept)
                                        : std::make_unique<Probe>(*this, endpoint));
  }
}

}  // namespace flamegate::proxy
