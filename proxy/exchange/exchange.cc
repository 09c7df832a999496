#include "proxy/exchange/exchange.h"

#include <utility>

#include "proxy/base/strings.h"
#include "proxy/exchange/affinity.h"
#include "proxy/net/transport.h"
#include "proxy/route/path.h"

namespace flamegate::proxy {
namespace {

// Content moved in one turn; then other exchanges get theirs.
constexpr size_t kTurnBytesMax = 512 * 1024;
constexpr Duration kTunnelIdle = std::chrono::hours(1);
// For requests to control, which have no route. It may hold one for a minute (`wait`).
// Whoever waits for a session outlasts its deadline, so as to be told of the failure and try elsewhere.
constexpr Duration kWaitGrace = std::chrono::milliseconds(100);
constexpr Duration kControlConnect = std::chrono::seconds(5);
constexpr Duration kControlResponse = std::chrono::seconds(75);

}  // namespace

Exchange::Exchange(EventLoop& loop)
    : loop_(loop),
      timer_(
          loop.timers(),
          [](void* self) {
            auto* exchange = static_cast<Exchange*>(self);
            exchange->expired_ = true;
            exchange->advance();
          },
          this) {}

Exchange::~Exchange() = default;

void Exchange::begin(ServerStream& stream, WorkerContext& context) {
  stream_ = &stream;
  request_ = &stream.request();
  context_ = &context;
  ++context.exchanges;
  context.counters.requests.add();
  context.counters.requests_active.add();
  record_ = {};
  record_.started = clock();
  clearRoute();
  pool_ = nullptr;
  total_deadline_ = {};
  avoided_ = nullptr;
  retries_left_ = 0;
  filter_at_ = 0;
  step_ = Step::Route;
  deadline_ = Deadline::None;
  failure.reset();
  entered_ = retrying_ = judged_ = false;
  expired_ = fresh_needed_ = kept_retried_ = content_sent_ = false;
  request_done_ = head_sent_ = transform_ended_ = tunnel_closed_up_ = false;
}

void Exchange::reset() {
  if (step_ != Step::Done) abandon("client-gone");
  --context_->exchanges;
  context_->counters.requests_active.subtract();
  stream_ = nullptr;
  request_ = nullptr;
  context_ = nullptr;
}

TimePoint Exchange::clock() const {
  return context_->access_log != nullptr || filter_state_ != nullptr ? monotonicNow() : loop_.now();
}

void Exchange::onRequest() {
  original_target_ = request().target;
  advance();
}

// A stream may be free now, or the session that was to lend one could not be had.
void Exchange::resume() {
  if (step_ == Step::Waiting) {
    step_ = Step::Acquire;
    // What was waited for is a new session, or one that was in use a moment ago.
    fresh_needed_ = false;
    if (failure) onAcquireFailure(*std::exchange(failure, std::nullopt), failed_at);
  }
  advance();
}

void Exchange::resumeFilters() {
  if (step_ == Step::Filter) advance();
}

void Exchange::advance() {
  while (step()) {
  }
  stream_->finishTurn();
}

bool Exchange::step() {
  if (expired_) return onDeadline();
  if (stream_->failure() != nullptr && step_ < Step::Reply) return onClientFailure();
  switch (step_) {
    case Step::Route:
      return routeRequest();
    case Step::Filter:
      return runFilters();
    case Step::Acquire:
      return acquire();
    case Step::Waiting:
      return false;
    case Step::Relay:
      return relay();
    case Step::Tunnel:
      return tunnel();
    case Step::Reply:
      return sendReply();
    case Step::Done:
      return false;
  }
  return false;
}

// ---- Before the application ---------------------------------------------------------------------

bool Exchange::routeRequest() {
  RequestHead& head = request();
  step_ = Step::Filter;
  if (head.method == Method::Connect) return replyWith({.status = 405, .reason = "connect"});
  if (isMisdirected()) return replyWith({.status = 421, .reason = "misdirected"});
  path_ = head.target == "*" ? std::string_view("/") : head.path();
  if (!isPlainPath(path_)) {
    auto normal = normalizePath(path_);
    if (!normal) return replyWith({.status = 400, .reason = "path-escape"});
    normal_path_ = std::move(*normal);
    path_ = normal_path_;
  }
  const Router& router = *context_->snapshot->router;
  const auto found = router.find(head, path_);
  if (!found) return true;
  route_index_ = *found;
  route_ = &config().routes[route_index_];
  if (route_->redirect) return true;
  pool_ = context_->pools[route_->cluster_index].get();
  retries_left_ = route_->retry.attempts;
  if (route_->timeout.total) total_deadline_ = record_.started + *route_->timeout.total;
  if (route_->rewrite) head.target = router.rewrite(*found, head.target, path_, rewritten_);
  if (route_->body_bytes_max && head.framing == Framing::Length &&
      head.content_length > *route_->body_bytes_max) {
    return replyWith({.status = 413, .reason = "request-too-large"});
  }
  return true;
}

// A gateway answers for its origins (RFC 9110 §3.7), so that it is the one to say that a request
// belongs on another connection (§7.4, §15.5.20): one with the certificate that its host has here.
// Requests for hosts that no certificate is for are served; another connection would do no better.
bool Exchange::isMisdirected() const {
  const Transport* transport = peer().transport;
  return transport != nullptr && transport->isMisdirected(hostOf(request().authority));
}

bool Exchange::replyWithoutRoute() {
  const bool served = context_->snapshot->router->servesHost(hostOf(request().authority));
  if (!served) return replyWith({.status = 421, .reason = "unknown-host"});
  return replyWith({.status = 404, .reason = "no-route"});
}

const config::Listener& Exchange::listener() const {
  static const config::Listener kGone;
  const auto place = context_->snapshot->findListener(stream_->peer().listener);
  return place ? config().listeners[*place] : kGone;
}

void Exchange::clearRoute() {
  route_ = nullptr;
  route_index_ = config().routes.size();
}

void Exchange::forwardTo(size_t cluster) {
  clearRoute();
  pool_ = context_->pools[cluster].get();
}

bool Exchange::runFilters() {
  const std::unique_ptr<Filter>* const filters = context_->filters.data();
  for (const size_t count = context_->filters.size(); filter_at_ < count; ++filter_at_) {
    Filter& filter = *filters[filter_at_];
    if (!filter.concerns(*this)) continue;
    Verdict verdict = filter.onRequest(*this);
    if (verdict.kind == Verdict::Kind::Wait) return false;
    if (verdict.kind == Verdict::Kind::Reply) return replyWith(std::move(*verdict.reply));
  }
  if (route_ != nullptr && route_->redirect) {
    return replyWith({.status = route_->redirect->status,
                      .reason = "redirect",
                      .fields = {{"Location", route_->redirect->to}}});
  }
  if (pool_ == nullptr) return replyWithoutRoute();
  step_ = Step::Acquire;
  return true;
}

bool Exchange::acquire() {
  record_.upstream_begun = clock();
  if (!entered_ && !(entered_ = pool_->enter())) {
    upstream_error_ =
        Error{ErrorCode::Full, ErrorSource::Upstream, Retry::No, "requests in flight"};
    return failWith(upstream_error_);
  }
  const UpstreamNeed need{
      .fresh = fresh_needed_,
      .unrepeatable = !isIdempotent(request().method),
      .other_than = avoided_,
      .key = hashKey(),
  };
  auto lease = pool_->acquire(*this, need);
  if (lease) return beginRelay(*lease);
  if (lease.error().code == ErrorCode::Full && pool_->wait(*this)) {
    step_ = Step::Waiting;
    armConnect(kWaitGrace);
    return false;
  }
  return onAcquireFailure(std::move(lease.error()), pool_->failedAt());
}

std::optional<uint64_t> Exchange::hashKey() const {
  if (pool_->options().balance != BalancePolicy::Hash || route_ == nullptr) return std::nullopt;
  return affinityKey(config().clusters[route_->cluster_index].balance, request(),
                     record_.client.empty() ? peer().text : record_.client);
}

bool Exchange::onAcquireFailure(Error error, const Endpoint* where) {
  avoided_ = where;
  context_->counters.upstream_failures.add();
  upstream_error_ = std::move(error);
  const bool wanted =
      upstream_error_.retry == Retry::Yes && route_ != nullptr && route_->retry.on.connect;
  if (wanted && beginRetry(false)) return retry();
  return failWith(upstream_error_);
}

bool Exchange::beginRelay(const UpstreamLease& lease) {
  lease_ = lease;
  ++record_.attempts;
  record_.endpoint = lease.endpoint->name();
  step_ = Step::Relay;
  judged_ = false;
  content_sent_ = request_done_ = false;
  if (filter_state_ != nullptr) {
    for (const auto& filter : context_->filters) filter->onAttempt(*this);
  }
  lease_.stream->sendHead(request());
  if (lease_.stream->connected()) record_.connected = record_.upstream_begun;
  armConnect();
  return true;
}

// ---- Between client and application -------------------------------------------------------------

bool Exchange::relay() {
  ClientStream& upstream = *lease_.stream;
  if (!head_sent_ || !request_done_) {
    pumpRequest();
    if (step_ != Step::Relay) return true;
    upstream.flush();
    if (stream_->failure() != nullptr) return true;
    if (!head_sent_ && !receiveHead()) {
      return upstream.failure() != nullptr && onUpstreamFailure(*upstream.failure());
    }
    if (step_ != Step::Relay) return true;
  }
  return pumpResponse();
}

// Content is only taken once a connection stands, so that until then any request can be tried
// again.
void Exchange::pumpRequest() {
  ClientStream& upstream = *lease_.stream;
  if (request_done_) return;
  if (upstream.connected() && !record_.connected.set()) record_.connected = clock();
  const bool has_content = request().framing != Framing::None;
  if (has_content && !upstream.connected()) return;
  while (has_content && !stream_->requestEnded()) {
    const std::string_view content = stream_->content();
    if (content.empty()) break;
    if (overBodyLimit(content.size())) return;
    const size_t taken = upstream.sendContent(content);
    if (taken > 0) {
      stream_->consume(taken);
      record_.request_bytes += taken;
      content_sent_ = true;
    }
    if (taken < content.size()) break;
  }
  // A body that turned out malformed at its very end must not reach the application as a whole one.
  if (stream_->failure() != nullptr) return;
  if (!stream_->requestEnded()) {
    // Until the whole request is out, only standing still is an error.
    if (upstream.connected()) arm(Deadline::Idle, config().limits.body_idle);
    return;
  }
  upstream.sendEnd(stream_->trailers());
  request_done_ = true;
  if (upstream.connected()) armResponse();
}

// A body without an announced length is refused where it crosses the route's limit.
bool Exchange::overBodyLimit(size_t more) {
  if (route_ == nullptr || !route_->body_bytes_max ||
      record_.request_bytes + more <= *route_->body_bytes_max) {
    return false;
  }
  if (head_sent_) {
    abandon("request-too-large");
  } else {
    replyWith({.status = 413, .reason = "request-too-large"});
  }
  return true;
}

// True when the final head was dealt with.
bool Exchange::receiveHead() {
  ClientStream& upstream = *lease_.stream;
  while (upstream.readHead()) {
    ResponseHead& head = upstream.response();
    if (!head.interim()) return takeFinalHead();
    head.fields.removeAll(HeaderId::FlamegatePrivate);
    stream_->sendInterim(head);
  }
  if (!record_.connected.set() && upstream.connected()) {
    record_.connected = clock();
    if (request_done_) armResponse();
  }
  return false;
}

bool Exchange::takeFinalHead() {
  ClientStream& upstream = *lease_.stream;
  ResponseHead& head = upstream.response();
  const bool gateway_error = head.status >= 502 && head.status <= 504;
  judgeEndpoint(gateway_error);
  if (gateway_error && route_ != nullptr && route_->retry.on.gateway_error &&
      pool_->endpointCount() > 1 && !content_sent_ &&
      (isIdempotent(request().method) || route_->retry.unsafe) && beginRetry(true)) {
    avoided_ = lease_.endpoint;
    return retry();
  }
  if (head.status == 101 && (request().upgrade.empty() || head.upgrade.empty())) {
    upstream_error_ = Error{ErrorCode::Malformed, ErrorSource::Upstream, Retry::No, "unasked 101"};
    return failWith(upstream_error_);
  }
  record_.first_byte = clock();
  prepareHead(head);
  stream_->sendHead(head);
  head_sent_ = true;
  if (head.status == 101) {
    upstream.startTunnel();
    stream_->startTunnel();
    arm(Deadline::Idle, kTunnelIdle);
    step_ = Step::Tunnel;
  }
  return true;
}

// What every final head goes through, ours or the application's.
void Exchange::prepareHead(ResponseHead& head) {
  record_.status = head.status;
  const auto inReverse = [&](const auto& filters) {
    for (size_t i = filters.size(); i-- > 0;) filters[i]->onResponse(*this, head);
  };
  filter_state_ != nullptr ? inReverse(context_->filters) : inReverse(context_->response_filters);
  head.fields.removeAll(HeaderId::FlamegatePrivate);
  if (!head.fields.has(HeaderId::Date)) {
    head.fields.add("Date", context_->date.text(unixMillis() / 1000), HeaderId::Date);
  }
}

bool Exchange::pumpResponse() {
  ClientStream& upstream = *lease_.stream;
  size_t moved = 0;
  if (!flushTransformed()) return false;
  while (moved < kTurnBytesMax) {
    const std::string_view content = upstream.content();
    if (content.empty()) break;
    const size_t taken = passContent(content);
    upstream.consume(taken);
    moved += taken;
    if (taken < content.size() || transformed_sent_ < transformed_.size()) {
      armIdle();
      return false;
    }
  }
  if (upstream.failure() != nullptr) return onUpstreamFailure(*upstream.failure());
  if (!upstream.responseEnded()) {
    armIdle();
    if (moved >= kTurnBytesMax) loop_.resumeLater(*this);
    return false;
  }
  if (transform_ != nullptr && !transform_ended_) {
    transform_ended_ = true;
    transform_->transform({}, true, transformed_);
    if (!flushTransformed()) return false;
  }
  stream_->sendEnd(upstream.trailers());
  finish();
  return false;
}

size_t Exchange::passContent(std::string_view content) {
  if (transform_ == nullptr) return stream_->sendContent(content);
  transform_->transform(content, false, transformed_);
  flushTransformed();
  return content.size();
}

// Gives the client what the transform made; false while some is left.
bool Exchange::flushTransformed() {
  if (transformed_.empty()) return true;
  transformed_sent_ +=
      stream_->sendContent(std::string_view(transformed_).substr(transformed_sent_));
  if (transformed_sent_ < transformed_.size()) return false;
  transformed_.clear();
  transformed_sent_ = 0;
  return true;
}

bool Exchange::tunnel() {
  ClientStream& upstream = *lease_.stream;
  if (stream_->failure() != nullptr) return onClientFailure();
  const bool moved_down = pumpTunnel(true);
  const bool moved_up = pumpTunnel(false);
  upstream.flush();
  if (upstream.failure() != nullptr) {
    abandon("upstream-reset");
    return false;
  }
  if (moved_down || moved_up) arm(Deadline::Idle, kTunnelIdle);
  if (stream_->requestEnded() && !tunnel_closed_up_ && upstream.flushed()) {
    tunnel_closed_up_ = true;
    upstream.closeWrite();
  }
  if (!upstream.responseEnded()) return false;
  stream_->sendEnd(nullptr);
  finish();
  return false;
}

bool Exchange::pumpTunnel(bool to_client) {
  ClientStream& upstream = *lease_.stream;
  size_t moved = 0;
  while (moved < kTurnBytesMax) {
    const std::string_view bytes = to_client ? upstream.content() : stream_->content();
    if (bytes.empty()) return moved > 0;
    const size_t taken = to_client ? stream_->sendContent(bytes) : upstream.sendContent(bytes);
    if (to_client) {
      upstream.consume(taken);
    } else {
      stream_->consume(taken);
    }
    moved += taken;
    if (taken < bytes.size()) return moved > 0;
  }
  loop_.resumeLater(*this);
  return true;
}

// ---- Deadlines ----------------------------------------------------------------------------------

void Exchange::armConnect(Duration grace) {
  const Duration time = route_ != nullptr
                            ? Duration(config().clusters[route_->cluster_index].timeout.connect)
                            : kControlConnect;
  arm(Deadline::Connect, time + grace);
}

void Exchange::armResponse() {
  arm(Deadline::Response,
      route_ != nullptr ? Duration(route_->timeout.response) : kControlResponse);
}

void Exchange::armIdle() {
  arm(Deadline::Idle,
      route_ != nullptr ? Duration(route_->timeout.idle) : Duration(config().limits.body_idle));
}

void Exchange::arm(Deadline deadline, Duration after) {
  deadline_ = deadline;
  TimePoint at = loop_.now() + after;
  if (total_deadline_.set() && total_deadline_ < at) {
    deadline_ = Deadline::Total;
    at = total_deadline_;
  }
  timer_.arm(at);
}

}  // namespace flamegate::proxy
