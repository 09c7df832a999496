// How exchanges go wrong, answer by themselves, and end.
#include "proxy/base/strings.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/failure.h"
#include "proxy/http/http1_writer.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kRetryAfterSeconds = "1";

}  // namespace

// ---- When something goes wrong ------------------------------------------------------------------

bool Exchange::mayRetry(const Error& error) const {
  if (retries_left_ == 0 || content_sent_ || head_sent_) return false;
  const config::Retry& policy = route_->retry;
  const bool repeatable = isIdempotent(request().method) || policy.unsafe;
  switch (error.retry) {
    case Retry::Yes:
      return policy.on.connect;
    // A kept connection was most likely being closed at that moment (RFC 9112 §9.3.1).
    case Retry::IfUnanswered:
      return repeatable && (lease_.stream->reused() || policy.on.reset);
    case Retry::No:
      return false;
  }
  return false;
}

bool Exchange::onUpstreamFailure(const Error& error) {
  upstream_error_ = error;
  context_->counters.upstream_failures.add();
  if (head_sent_) {
    abandon("upstream-reset");
    return false;
  }
  // That a kept connection was just being closed says nothing about the endpoint.
  const bool kept_closed = error.retry != Retry::No && lease_.stream->reused();
  if (!kept_closed) judgeEndpoint(true);
  if (route_ == nullptr || !mayRetry(error)) return failWith(upstream_error_);
  if (kept_closed && !kept_retried_) {
    // Costs no attempt: that the endpoint is gone shows only now, on a new connection.
    fresh_needed_ = kept_retried_ = true;
    return retry();
  }
  // No second time to an application that may have read the request twice already.
  const bool reached = error.retry != Retry::Yes;
  if ((reached && kept_retried_) || !beginRetry(reached)) return failWith(upstream_error_);
  avoided_ = lease_.endpoint;
  return retry();
}

// Counts what came of the request for its endpoint, once an attempt.
void Exchange::judgeEndpoint(bool failed) {
  if (judged_) return;
  judged_ = true;
  pool_->onResult(lease_, failed);
}

// Whether another attempt is left to this exchange, and to the cluster's retries as a whole; those
// are not asked after an attempt that did not reach the application, as it cost that nothing.
bool Exchange::beginRetry(bool reached) {
  if (retries_left_ == 0) return false;
  if (reached && !retrying_ && !(retrying_ = pool_->beginRetry())) return false;
  --retries_left_;
  return true;
}

// The next attempt begins where the first did, on another connection.
bool Exchange::retry() {
  context_->counters.retries.add();
  // Nobody keeps the endpoint while another is waited for.
  record_.endpoint = arena().copy(record_.endpoint);
  releaseUpstream();
  step_ = Step::Acquire;
  record_.connected = {};
  return true;
}

bool Exchange::onClientFailure() {
  const Error& error = *stream_->failure();
  const FailureReply reply = failureReply(error);
  if (reply.status != 0 && !head_sent_) {
    return replyWith({.status = reply.status, .reason = reply.reason});
  }
  context_->counters.client_aborts.add();
  abandon(reply.reason);
  return false;
}

bool Exchange::onDeadline() {
  expired_ = false;
  const Deadline which = deadline_;
  if (head_sent_) {
    abandon(which == Deadline::Total ? "timeout-total" : "timeout-idle");
    return false;
  }
  if (step_ == Step::Relay && (which == Deadline::Connect || which == Deadline::Response)) {
    judgeEndpoint(true);
  }
  Error error{ErrorCode::Timeout, ErrorSource::Upstream, Retry::No, "deadline"};
  // The client stopped sending its content.
  if (which == Deadline::Idle && step_ == Step::Relay) error.source = ErrorSource::Client;
  upstream_error_ = error;
  return failWith(error);
}

bool Exchange::failWith(const Error& error) {
  FailureReply reply = failureReply(error);
  // Without a route it was control that did not answer.
  if (route_ == nullptr && error.source == ErrorSource::Upstream) reply = {503, "control-down"};
  LocalReply local{.status = reply.status, .reason = reply.reason};
  if (reply.status == 503) local.fields.emplace_back("Retry-After", kRetryAfterSeconds);
  return replyWith(std::move(local));
}

bool Exchange::replyWith(LocalReply reply) {
  releaseUpstream();
  reply_ = std::make_unique<LocalReply>(std::move(reply));
  step_ = Step::Reply;
  return true;
}

bool Exchange::sendReply() {
  LocalReply& reply = *reply_;
  context_->counters.local_replies.add();
  record_.reason = reply.reason;
  ResponseHead head;
  head.status = reply.status;
  head.reason = reasonPhrase(reply.status);
  if (reply.body.empty() && reply.status >= 400) {
    reply.body.append(head.reason).append(" (").append(reply.reason).append(")\n");
  }
  const bool bodiless = reply.status == 204 || reply.status == 304;
  if (!bodiless) {
    if (!reply.body.empty()) head.fields.add("Content-Type", reply.content_type);
    char digits[20];
    const char* end = writeDecimal(digits, reply.body.size());
    head.fields.add("Content-Length", arena().copy({digits, static_cast<size_t>(end - digits)}),
                    HeaderId::ContentLength);
    head.framing = reply.body.empty() ? Framing::None : Framing::Length;
    head.content_length = reply.body.size();
  }
  for (const auto& [name, value] : reply.fields) {
    if (isFieldValueSafe(value)) head.fields.add(name, value);
  }
  prepareHead(head);
  if (!stream_->requestEnded()) stream_->closeAfterResponse();
  stream_->sendHead(head);
  head_sent_ = true;
  // Replies are small; what a slow client does not take gathers in the session.
  stream_->sendContent(reply.body);
  stream_->sendEnd(nullptr);
  finish();
  return false;
}

// Ends without a complete response.
void Exchange::abandon(std::string_view reason) {
  record_.reason = reason;
  releaseUpstream();
  stream_->breakOff();
  finish();
}

void Exchange::releaseUpstream() {
  if (pool_ != nullptr && step_ == Step::Waiting) pool_->cancelWait(*this);
  if (lease_.stream == nullptr) return;
  pool_->release(lease_);
  lease_.stream = nullptr;
}

void Exchange::noteTraffic(TrafficStats& traffic) const {
  traffic.noteRoute(route_index_, record_.ended - record_.started);
  if (!record_.first_byte.set() || route_->redirect) return;
  traffic.noteUpstream(route_->cluster_index, record_.first_byte - record_.upstream_begun);
}

void Exchange::finish() {
  releaseUpstream();
  if (retrying_) pool_->endRetry();
  if (entered_) pool_->leave();
  timer_.disarm();
  static_cast<Resumable&>(*this).unlink();
  step_ = Step::Done;
  record_.ended = clock();
  record_.response_bytes = stream_->bytesSent();
  context_->counters.responses[record_.status / 100 % 6].add();
  if (context_->traffic != nullptr && route_ != nullptr) noteTraffic(*context_->traffic);
  if (filter_state_ != nullptr) {
    for (const auto& filter : context_->filters) filter->onDone(*this);
  }
  if (context_->access_log != nullptr) context_->access_log->log(*this);
  if (transform_ != nullptr) transform_.reset();
  if (reply_ != nullptr) reply_.reset();
  if (filter_state_ != nullptr) filter_state_.reset();
  transformed_.clear();
  transformed_sent_ = 0;
}

}  // namespace flamegate::proxy
