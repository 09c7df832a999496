#include "proxy/session/http1_server_session.h"

#include <algorithm>
#include <cstring>

#include "proxy/base/log.h"
#include "proxy/base/strings.h"
#include "proxy/session/first_bytes.h"
#include "proxy/session/http2_server_session.h"
#include "proxy/session/peer.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

constexpr size_t kReadBytes = BufferPool::kSmallBytes;
// Content that nobody wants is read this far to keep the connection usable (RFC 9112 §9.3).
constexpr size_t kSkipBytesMax = 256 * 1024;
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr size_t kLingerBytesMax = 1024 * 1024;
constexpr int kRequestsPerTurn = 16;
constexpr Duration kWatchDelay = std::chrono::milliseconds(100);
// While draining, for a request that may be on its way: to close a connection under it would fail it.
constexpr Duration kDrainGrace = std::chrono::seconds(1);

}  // namespace

Http1ServerSession::Http1ServerSession(ServerSessionContext& context, UniqueFd fd,
                                       const Address& peer, size_t listener)
    : context_(context),
      connection_(std::make_unique<Connection>(context.loop, std::move(fd),
                                               static_cast<ConnectionEvents&>(*this),
                                               Readiness{.readable = true, .writable = true})),
      in_(context.loop.buffers()),
      out_(*connection_, context.loop.buffers()),
      timer_(context.loop.timers(),
             [](void* self) { static_cast<Http1ServerSession*>(self)->onTimer(); }, this),
      peer_(peerOf(peer, peer_text_, listener)) {}

Http1ServerSession::~Http1ServerSession() {
  if (handler_ != nullptr) context_.handlers.endHandler(*handler_);
  if (message_ != nullptr) endRequest();
}

void Http1ServerSession::setSecure(std::unique_ptr<Transport> transport) {
  peer_.secure = true;
  peer_.transport = transport.get();
  connection_->setTransport(std::move(transport));
}

void Http1ServerSession::start() {
  becomeIdle();
  runTurn();
}

void Http1ServerSession::drain() {
  draining_ = true;
  if (phase_ == Phase::Request && seen_ == 0 && in_.empty()) becomeIdle();
}

// ---- Events -------------------------------------------------------------------------------------

void Http1ServerSession::onReady() {
  if (handler_ != nullptr) {
    in_turn_ = true;
    flush();
    probeClient();
    handler_->onProgress();
    in_turn_ = false;
  }
  runTurn();
}

void Http1ServerSession::onTimer() {
  if (phase_ == Phase::Serving) {
    watch();
    return;
  }
  if (phase_ == Phase::Request && !in_.empty()) {
    refuse(408, "header-timeout");
    runTurn();
    return;
  }
  close();
}

// Does all that can be done now. While it runs, finishTurn() of a handler is a no-op.
void Http1ServerSession::runTurn() {
  if (in_turn_ || phase_ == Phase::Closed) return;
  in_turn_ = true;
  int steps = 0;
  while (step()) {
    if (++steps == kRequestsPerTurn) {
      context_.loop.resumeLater(*this);
      break;
    }
  }
  in_turn_ = false;
  if (phase_ != Phase::Closed && !connection_->started()) watchIfNeeded();
}

// A connection that brings one request and is closed after its response need not be registered with
// the loop, nor be taken out of it. So that is put off while the response is awaited; after a moment
// the client is watched all the same, as it may go away.
void Http1ServerSession::watchIfNeeded() {
  const bool only_response_left =
      phase_ == Phase::Serving && connection_->writable() && requestEnded() && !tunnel_;
  if (!only_response_left) {
    watch();
  } else if (!timer_.armed()) {
    timer_.arm(context_.loop.now() + kWatchDelay);
  }
}

void Http1ServerSession::watch() {
  if (connection_->started()) return;
  if (auto started = connection_->start(); !started) {
    logError("session", started.error().detail);
    close();
  }
}

// One step of the session's life; false when it has to wait for an event.
bool Http1ServerSession::step() {
  switch (phase_) {
    case Phase::Request: return readRequest();
    case Phase::Serving:
      if (broken_off_) {
        if (head_sent_) connection_->resetOnClose();
        close();
        return false;
      }
      if (response_ended_ && close_after_ && requestEnded()) connection_->endWithNextWrite();
      flush();
      if (failed_ && !failure_told_) {
        failure_told_ = true;
        handler_->onProgress();
        return true;
      }
      if (!response_ended_) return false;
      context_.handlers.endHandler(*std::exchange(handler_, nullptr));
      phase_ = Phase::Skipping;
      return true;
    case Phase::Skipping:
      flush();
      if (out_.failed()) {
        close();
        return false;
      }
      return skipContent();
    case Phase::Lingering: return linger();
    case Phase::Closed: return false;
  }
  return false;
}

// ---- Requests -----------------------------------------------------------------------------------

// What earlier responses left; false when the client is gone.
bool Http1ServerSession::sendRest() {
  out_.flush();
  if (!out_.failed()) return true;
  close();
  return false;
}

// Reads and parses a head; true when a request was begun.
bool Http1ServerSession::readRequest() {
  if (!out_.gathered().empty() && !sendRest()) return false;
  if (in_.size() == seen_) {
    const IoResult got = readSome(seen_ == 0 ? kReadBytes : kReadBytes / 4);
    if (got.state == State::Blocked) {
      becomeIdle();
      return false;
    }
    if (got.state != State::Done) return endOutput();
  }
  if (!protocol_known_ && !readFirstBytes()) return phase_ != Phase::Closed;
  if (message_ == nullptr) {
    message_ = context_.messages.take(context_.loop.buffers());
    out_.beginMessage();
  }
  const ParseResult parsed =
      parseRequestHead(in_.view(), seen_, context_.limits.head, message_->head);
  if (parsed.state == ParseResult::State::Bad) {
    refuse(http1FaultStatus(parsed.fault), http1FaultName(parsed.fault));
    return true;
  }
  if (parsed.state == ParseResult::State::Incomplete) {
    if (seen_ == 0) timer_.arm(context_.loop.now() + context_.limits.header_read);
    seen_ = in_.size();
    return true;
  }
  beginRequest(parsed.head_bytes);
  return true;
}

// True once the connection is known to speak HTTP/1.
bool Http1ServerSession::readFirstBytes() {
  switch (protocolOf(*connection_, in_.view(), context_.on_http2 != nullptr)) {
    case Protocol::Http1:
      protocol_known_ = true;
      seen_ = 0;
      return true;
    case Protocol::Http2: handOver(); return false;
    case Protocol::Unknown: break;
  }
  if (seen_ == 0) timer_.arm(context_.loop.now() + context_.limits.header_read);
  seen_ = in_.size();
  return false;
}

void Http1ServerSession::handOver() {
  phase_ = Phase::Closed;
  timer_.disarm();
  connection_->stop();
  context_.on_http2(context_.owner, *this, {std::move(connection_), std::move(in_), peer_});
}

void Http1ServerSession::beginRequest(size_t head_bytes) {
  timer_.disarm();
  seen_ = 0;
  head_bytes_ = head_bytes;
  Http1Message& message = *message_;
  message.body.begin(message.head.framing, message.head.content_length);
  close_after_ = !message.head.keep_alive || draining_ || context_.handlers.draining();
  failed_ = failure_told_ = false;
  head_sent_ = response_ended_ = continue_sent_ = input_ended_ = false;
  skipped_bytes_ = 0;
  phase_ = Phase::Serving;
  handler_ = &context_.handlers.beginHandler(*this);
  handler_->onRequest();
}

void Http1ServerSession::endRequest() {
  if (head_bytes_ > 0) in_.consume(head_bytes_);
  head_bytes_ = 0;
  message_->trailers.clear();
  message_->arena.reset();
  message_->pinned.release();
  context_.messages.give(std::move(message_));
}

// Waits for the next request without holding memory for it.
void Http1ServerSession::becomeIdle() {
  in_.releaseIfEmpty();
  if (in_.empty() && message_ != nullptr) endRequest();
  if (!in_.empty()) return;
  const Duration idle = context_.limits.idle;
  timer_.arm(context_.loop.now() + (draining_ ? std::min(idle, kDrainGrace) : idle));
}

// Drops what is left of the request's content, then goes on to the next request, or closes.
bool Http1ServerSession::skipContent() {
  // A client that was never told to go on may not send the content at all.
  const bool unsure = message_->head.expects_continue && !continue_sent_ && !requestEnded();
  while (!unsure && !close_after_ && !requestEnded() && !failed_ && skipped_bytes_ < kSkipBytesMax) {
    const std::string_view rest = content();
    if (rest.empty()) break;
    skipped_bytes_ += rest.size();
    consume(rest.size());
  }
  const bool done = requestEnded();
  if (!done && !unsure && !failed_ && !close_after_ && skipped_bytes_ < kSkipBytesMax) {
    timer_.arm(context_.loop.now() + context_.limits.idle);
    return false;
  }
  if (close_after_ || !done) {
    if (!out_.gathered().empty()) {
      timer_.arm(context_.loop.now() + context_.limits.idle);
      return false;
    }
    finishConnection();
    return phase_ != Phase::Closed;
  }
  // A client that takes no responses may not make us gather those without content.
  if (out_.gathered().size() > Http1Output::kGatheredBytesMax) {
    timer_.arm(context_.loop.now() + context_.limits.idle);
    return false;
  }
  endRequest();
  phase_ = Phase::Request;
  return true;
}

// Closing with unread input makes the kernel send RST, which may overtake the response (RFC 9112
// §9.6); then our direction is closed first and the client gets time to close its own.
bool Http1ServerSession::mustLinger() const {
  return !requestEnded() || in_.size() > head_bytes_ || connection_->readable() || failed_;
}

// No request follows. Closes, but for responses that the client has yet to take; true when there
// are some to go on with.
bool Http1ServerSession::endOutput() {
  if (out_.gathered().empty() || out_.failed()) {
    close();
    return false;
  }
  phase_ = Phase::Lingering;
  skipped_bytes_ = 0;
  timer_.arm(context_.loop.now() + context_.limits.idle);
  return true;
}

void Http1ServerSession::finishConnection() {
  if (!mustLinger()) {
    if (connection_->secure()) connection_->closeWrite();
    close();
    return;
  }
  connection_->closeWrite();
  phase_ = Phase::Lingering;
  skipped_bytes_ = 0;
  timer_.arm(context_.loop.now() + kLingerTime);
}

bool Http1ServerSession::linger() {
  if (!out_.gathered().empty()) {
    flush();
    if (!out_.gathered().empty() && !out_.failed()) return false;
    connection_->closeWrite();
    timer_.arm(context_.loop.now() + kLingerTime);
  }
  in_.clear();
  const IoResult got = readSome(kReadBytes);
  if (got.state == State::Blocked) return false;
  skipped_bytes_ += got.bytes;
  if (got.state != State::Done || skipped_bytes_ > kLingerBytesMax) {
    close();
    return false;
  }
  return true;
}

// Answers a head that cannot be served, and closes.
void Http1ServerSession::refuse(uint16_t status, std::string_view reason) {
  if (message_ == nullptr) message_ = context_.messages.take(context_.loop.buffers());
  context_.handlers.onRefused(peer_, status, reason);
  ResponseHead head;
  head.status = status;
  head.reason = reasonPhrase(status);
  std::string body(head.reason);
  body.append(" (").append(reason).append(")\n");
  const std::string length = std::to_string(body.size());
  head.fields.add("Content-Type", "text/plain; charset=utf-8");
  head.fields.add("Content-Length", length);
  writeResponseHead(head, {.close = true}, out_.gathered());
  out_.gathered().append(body);
  head_bytes_ = 0;
  seen_ = 0;
  failed_ = false;
  flush();
  if (out_.failed()) {
    close();
    return;
  }
  if (out_.gathered().empty()) connection_->closeWrite();
  phase_ = Phase::Lingering;
  skipped_bytes_ = 0;
  timer_.arm(context_.loop.now() + kLingerTime);
}

void Http1ServerSession::close() {
  if (phase_ == Phase::Closed) return;
  phase_ = Phase::Closed;
  timer_.disarm();
  connection_->stop();
  if (handler_ != nullptr) context_.handlers.endHandler(*std::exchange(handler_, nullptr));
  context_.on_closed(context_.owner, *this);
}

// ---- Input --------------------------------------------------------------------------------------

IoResult Http1ServerSession::readSome(size_t room) { return connection_->read(in_, room); }

// After malformed input the client can still be answered; after a reset it cannot.
void Http1ServerSession::fail(ErrorCode code, std::string detail) {
  if (code == ErrorCode::Reset) out_.giveUp();
  if (failed_) return;
  failed_ = true;
  failure_ = Error{code, ErrorSource::Client, Retry::No, std::move(detail)};
}

// Keeps the head's block and lets content be read into others, of a size that suits it.
void Http1ServerSession::pinHead() {
  if (head_bytes_ == 0) return;
  Buffer rest(context_.loop.buffers());
  rest.append(in_.view().substr(head_bytes_));
  message_->pinned = std::move(in_);
  in_ = std::move(rest);
  head_bytes_ = 0;
}

std::string_view Http1ServerSession::content() {
  for (;;) {
    const std::string_view bytes = in_.view().substr(head_bytes_);
    if (tunnel_ && !bytes.empty()) return bytes;
    if (!tunnel_) {
      const Http1BodyDecoder::Step step = message_->body.look(bytes);
      if (step.fault != Http1Fault::None) {
        fail(ErrorCode::Malformed, std::string(http1FaultName(step.fault)));
        return {};
      }
      if (!step.trailers.empty()) {
        const Http1Fault fault = parseTrailers(message_->arena.copy(step.trailers),
                                               context_.limits.head, message_->trailers);
        if (fault != Http1Fault::None) fail(ErrorCode::Malformed, std::string(http1FaultName(fault)));
      }
      consumeInput(step.framing_bytes);
      if (step.content_bytes > 0) {
        return in_.view().substr(head_bytes_, step.content_bytes);
      }
      if (message_->body.done()) return {};
    }
    if (failed_ || input_ended_) return {};
    pinHead();
    const bool large = tunnel_ || message_->body.left() > 2 * kReadBytes;
    const IoResult got = readSome(large && in_.empty() ? BufferPool::kLargeBytes : kReadBytes / 4);
    if (got.state == State::Done) continue;
    if (got.state == State::Blocked) {
      in_.releaseIfEmpty();
      return {};
    }
    input_ended_ = true;
    if (got.state == State::Failed) {
      fail(ErrorCode::Reset, "the client reset the connection");
    } else if (!tunnel_) {
      fail(ErrorCode::Closed, "the client closed before the end of its request");
    }
    return {};
  }
}

// Drops bytes that follow the head in in_.
void Http1ServerSession::consumeInput(size_t bytes) {
  if (bytes == 0) return;
  if (head_bytes_ == 0) {
    in_.consume(bytes);
    return;
  }
  // The head's bytes must stay where they are: it is pinned as soon as nothing follows it.
  head_bytes_ += bytes;
}

void Http1ServerSession::consume(size_t bytes) {
  consumeInput(bytes);
  if (!tunnel_) message_->body.take(bytes);
}

bool Http1ServerSession::requestEnded() const {
  return tunnel_ ? input_ended_ : message_->body.done();
}

const FieldList* Http1ServerSession::trailers() const {
  return message_->trailers.size() > 0 ? &message_->trailers : nullptr;
}

// While a handler waits for the application, notices that the client has gone. Reading is the only
// way to tell a reset from a pipelined request, so what comes is kept, up to a block.
void Http1ServerSession::probeClient() {
  if (tunnel_ || input_ended_ || !message_->body.done() || !connection_->readable()) return;
  if (in_.holdsBlock() && in_.room() == 0) return;
  const IoResult got = readSome(in_.holdsBlock() ? 1 : kReadBytes);
  // The client may close its own direction and still wait for the answer.
  if (got.state == State::Eof) {
    input_ended_ = true;
    close_after_ = close_after_ || in_.size() == head_bytes_;  // else pipelined requests follow
  }
  if (got.state == State::Failed) {
    input_ended_ = true;
    fail(ErrorCode::Reset, "the client reset the connection");
  }
}

// ---- Output -------------------------------------------------------------------------------------

void Http1ServerSession::sendInterim(const ResponseHead& head) {
  if (message_->head.minor_version == 0) return;
  if (head.status == 100) continue_sent_ = true;
  writeResponseHead(head, {}, out_.gathered());
}

void Http1ServerSession::sendHead(ResponseHead& head) {
  DCHECK(!head_sent_);
  head_sent_ = true;
  const RequestHead& request = message_->head;
  const bool http10 = request.minor_version == 0;
  if (head.framing == Framing::UntilClose && !http10) head.framing = Framing::Chunked;
  if (head.framing == Framing::Chunked && http10) head.framing = Framing::UntilClose;
  out_.setFraming(request.method == Method::Head ? Framing::None : head.framing);
  // The length is unknown to the client of a HEAD, as it would be to that of a GET.
  if (request.method == Method::Head && head.framing == Framing::UntilClose) {
    head.framing = Framing::None;
  }
  close_after_ = close_after_ || draining_ || failed_ || out_.framing() == Framing::UntilClose ||
                 (request.expects_continue && !continue_sent_ && !requestEnded());
  writeResponseHead(head, {.close = close_after_, .http10 = http10}, out_.gathered());
}

size_t Http1ServerSession::sendContent(std::string_view content) {
  const size_t taken = out_.send(content);
  noteWriteFailure();
  return taken;
}

void Http1ServerSession::sendEnd(const FieldList* trailers) {
  out_.end(trailers);
  response_ended_ = true;
}

void Http1ServerSession::startTunnel() {
  tunnel_ = true;
  close_after_ = true;
  out_.setFraming(Framing::UntilClose);
}

void Http1ServerSession::flush() {
  out_.flush();
  noteWriteFailure();
}

void Http1ServerSession::noteWriteFailure() {
  if (out_.failed()) fail(ErrorCode::Reset, "the client reset the connection");
}

}  // namespace flamegate::proxy
