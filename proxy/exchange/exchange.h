// One request and its response: from the client's stream to the application's and back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "proxy/exchange/access_record.h"
#include "proxy/exchange/filter.h"
#include "proxy/exchange/worker_context.h"
#include "proxy/session/stream.h"

namespace flamegate::proxy {

// A step machine. Events only lead to advance(), which does whatever can be done now: route,
// filter, acquire, relay, or reply; each step is one function. Owner: a worker's pool; lent to a
// session from beginHandler() to endHandler(). Thread: the loop's. Ends: reset() when the stream is
// over; then it is used again.
class Exchange final : public StreamHandler, private ClientStreamEvents, private UpstreamWaiter {
 public:
  explicit Exchange(EventLoop& loop);
  ~Exchange();

  // Before onRequest().
  void begin(ServerStream& stream, WorkerContext& context);
  // The stream is over. What still runs is cancelled; filters and the log are told.
  void reset();

  // ---- For filters ----
  ServerStream& stream() { return *stream_; }
  const ServerStream& stream() const { return *stream_; }
  RequestHead& request() { return *request_; }
  const RequestHead& request() const { return *request_; }
  const Peer& peer() const { return stream_->peer(); }
  Arena& arena() { return stream_->arena(); }
  WorkerContext& context() { return *context_; }
  const config::Config& config() const { return context_->snapshot->config; }
  // In normal form; see normalizePath().
  std::string_view path() const { return path_; }
  // Null when no route matched, or a filter took the request elsewhere.
  // Where the client came in; one without rights when a reload has taken it away.
  const config::Listener& listener() const;
  const config::Route* route() const { return route_; }
  // Its place in the configuration; the number of routes when there is none.
  size_t routeIndex() const { return route_index_; }
  AccessRecord& record() { return record_; }
  const AccessRecord& record() const { return record_; }
  // The method and target as the client sent them, for logs.
  std::string_view originalMethod() const { return request_->method_text; }
  std::string_view originalTarget() const { return original_target_; }
  // Sends the request to this cluster, whatever the route says.
  void forwardTo(size_t cluster);
  // Lets a Wait go on. Not from inside the filter that said it.
  void resumeFilters();
  // The response's content passes through it. At most one.
  void setTransform(std::unique_ptr<BodyTransform> transform) { transform_ = std::move(transform); }
  // What a filter keeps with this exchange, until after onDone(); null unless one does.
  std::unique_ptr<FilterState>& filterState() { return filter_state_; }
  // Precise while somebody wants the times (a log or a filter's state), else to one kernel tick.
  TimePoint clock() const;
  // A connection to the application was had.
  bool connected() const { return record_.connected.set(); }

  // StreamHandler
  void onRequest() override;
  void onProgress() override { advance(); }

 private:
  enum class Step : uint8_t { Route, Filter, Acquire, Waiting, Relay, Tunnel, Reply, Done };
  enum class Deadline : uint8_t { None, Connect, Response, Idle, Total };

  void onUpstreamReady() override { advance(); }
  void resume() override;

  void advance();
  bool step();
  bool routeRequest();
  bool isMisdirected() const;
  bool replyWithoutRoute();
  void clearRoute();
  bool runFilters();
  bool acquire();
  bool relay();
  bool tunnel();
  bool sendReply();

  bool beginRelay(const UpstreamLease& lease);
  void pumpRequest();
  bool overBodyLimit(size_t more);
  bool pumpResponse();
  bool receiveHead();
  bool takeFinalHead();
  void prepareHead(ResponseHead& head);
  size_t passContent(std::string_view content);
  bool flushTransformed();
  bool pumpTunnel(bool to_client);

  std::optional<uint64_t> hashKey() const;
  bool onAcquireFailure(Error error, const Endpoint* where);
  bool onUpstreamFailure(const Error& error);
  bool mayRetry(const Error& error) const;
  void judgeEndpoint(bool failed);
  bool beginRetry(bool reached);
  bool retry();
  bool onClientFailure();
  bool onDeadline();
  bool failWith(const Error& error);
  bool replyWith(LocalReply reply);
  void abandon(std::string_view reason);
  void releaseUpstream();
  void noteTraffic(TrafficStats& traffic) const;
  void finish();
  void arm(Deadline deadline, Duration after);
  void armConnect(Duration grace = {});
  void armResponse();
  void armIdle();

  EventLoop& loop_;
  ServerStream* stream_ = nullptr;
  RequestHead* request_ = nullptr;  // the stream's
  WorkerContext* context_ = nullptr;
  const config::Route* route_ = nullptr;
  size_t route_index_ = 0;
  UpstreamPool* pool_ = nullptr;
  UpstreamLease lease_;
  const Endpoint* avoided_ = nullptr;  // where the last attempt failed; to compare only
  std::unique_ptr<LocalReply> reply_;
  std::unique_ptr<BodyTransform> transform_;
  std::unique_ptr<FilterState> filter_state_;
  AccessRecord record_;
  Error upstream_error_;
  Timer timer_;
  TimePoint total_deadline_;
  std::string_view path_;
  std::string_view original_target_;
  std::string normal_path_;  // when path_ is not the target's own
  std::string rewritten_;    // when the route rewrote the target
  std::string transformed_;  // what the transform gave and the client has not taken
  size_t transformed_sent_ = 0;
  size_t filter_at_ = 0;
  uint32_t retries_left_ = 0;
  Step step_ = Step::Done;
  Deadline deadline_ = Deadline::None;
  bool expired_ = false;
  bool entered_ = false;   // counted among the cluster's requests
  bool retrying_ = false;  // counted among its retries
  bool judged_ = false;    // what came of the attempt is known to the endpoint
  bool fresh_needed_ = false;
  bool kept_retried_ = false;  // a kept connection had been closed
  bool content_sent_ = false;  // some of the request's content was consumed
  bool request_done_ = false;
  bool head_sent_ = false;
  bool transform_ended_ = false;
  bool tunnel_closed_up_ = false;
};

}  // namespace flamegate::proxy
