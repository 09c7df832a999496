#include "proxy/session/http2_server_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/base/log.h"
#include "proxy/session/websocket.h"

namespace flamegate::proxy {
namespace {

using Kind = Http2Event::Kind;

constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr size_t kLingerBytesMax = 1024 * 1024;
// For the client's answer to the first GOAWAY.
constexpr Duration kDrainTime = std::chrono::seconds(1);
constexpr Duration kRefillTime = std::chrono::seconds(1);
constexpr int kRefillAmount = 30;
constexpr int kRoundsPerTurn = 8;

Http2Options optionsOf(const ServerSessionLimits& limits) {
  return {.server = true,
          .streams_max = static_cast<uint32_t>(limits.h2_streams),
          .block_bytes_max = static_cast<uint32_t>(limits.head.head_bytes_max)};
}

}  // namespace

Http2ServerSession::Http2ServerSession(Http2ServerContext& context, Http2Handover handover)
    : context_(context),
      peer_(handover.peer),
      wire_(std::move(handover.connection), std::move(handover.input), context.loop.buffers(),
            optionsOf(context.limits), context.shared.hpack),
      timer_(
          context.loop.timers(),
          [](void* self) { static_cast<Http2ServerSession*>(self)->onTimer(); }, this),
      refilled_at_(context.loop.now()) {
  const size_t bytes = std::min(peer_.text.size(), sizeof peer_text_);
  std::memcpy(peer_text_, peer_.text.data(), bytes);
  peer_.text = {peer_text_, bytes};
  wire_.connection().setEvents(*this);
}

Http2ServerSession::~Http2ServerSession() {
  while (Http2ServerStream* stream = streams_.front()) endStream(*stream);
}

void Http2ServerSession::start() {
  codec().start();
  if (auto started = wire_.connection().start(); !started) {
    logError("session", started.error().detail);
    close();
    return;
  }
  runTurn();
}

void Http2ServerSession::drain() {
  draining_ = true;
  codec().announceShutdown();
  runTurn();
}

// ---- Turns --------------------------------------------------------------------------------------

// Does all that can be done now. While it runs, finishTurn() of a handler only takes note.
void Http2ServerSession::runTurn() {
  if (in_turn_ || phase_ == Phase::Closed) return;
  in_turn_ = true;
  wire_.beginTurn();
  if (phase_ == Phase::Open) {
    endTouched();
    readEvents();
    serveBlocked();
  }
  flush();
  in_turn_ = false;
  closeIfOver();
  if (phase_ == Phase::Closed) return;
  if (wire_.mayGoOn()) context_.loop.resumeLater(*this);
  armTimer();
}

void Http2ServerSession::readEvents() {
  const TimePoint now = context_.loop.now();
  if (now - refilled_at_ >= kRefillTime) {
    const auto seconds = std::min<int64_t>((now - refilled_at_) / kRefillTime, kRefillAmount);
    codec().refill(static_cast<int>(seconds) * kRefillAmount);
    refilled_at_ = now;
  }
  for (;;) {
    const Http2Event event = wire_.next();
    if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) return;
    onEvent(event);
    endTouched();
  }
}

void Http2ServerSession::onEvent(const Http2Event& event) {
  switch (event.kind) {
    case Kind::Head:
      event.stream == nullptr ? onHead(event) : onTrailers(event);
      return;
    case Kind::Content:
      onContent(event);
      return;
    case Kind::Reset:
      onReset(event);
      return;
    case Kind::Drained:
      codec().sendGoAway(Http2Error::NoError, {});
      return;
    // A client has no streams of ours to refuse; it will close when it is done.
    default:
      return;
  }
}

void Http2ServerSession::touch(Http2ServerStream& stream) {
  const bool over = stream.response_ended_ || stream.broken_off_;
  if (over && !stream.ListNode<Http2Touched>::linked()) touched_.pushBack(stream);
  if (!in_turn_) context_.loop.resumeLater(*this);
}

void Http2ServerSession::endTouched() {
  while (Http2ServerStream* stream = touched_.front()) {
    if (stream->broken_off_) {
      codec().sendReset(*stream, Http2Error::InternalError);
    } else if (!stream->remote_ended) {
      // §8.1: the client may stop sending what nobody is going to read.
      codec().sendReset(*stream, Http2Error::NoError);
    }
    endStream(*stream);
  }
}

void Http2ServerSession::progress(Http2ServerStream& stream) {
  if (stream.handler_ != nullptr && !stream.response_ended_ && !stream.broken_off_) {
    stream.handler_->onProgress();
  }
}

void Http2ServerSession::endStream(Http2ServerStream& stream) {
  stream.ListNode<Http2Touched>::unlink();
  stream.ListNode<Http2Blocked>::unlink();
  if (stream.handler_ != nullptr) {
    context_.handlers.endHandler(*std::exchange(stream.handler_, nullptr));
  }
  codec().close(stream);
  wait_ = Wait::None;
  std::unique_ptr<Http2ServerStream> owned = streams_.take(stream);
  owned->reset();
  context_.streams.give(std::move(owned));
}

void Http2ServerSession::failAll(ErrorCode code, std::string_view detail) {
  while (Http2ServerStream* stream = streams_.front()) {
    stream->fail(code, std::string(detail));
    progress(*stream);
    endStream(*stream);
  }
}

// Streams whose content was not taken for want of room, in turn.
void Http2ServerSession::serveBlocked() {
  for (int round = 0; round < kRoundsPerTurn; ++round) {
    flush();
    if (blocked_.empty() || !wire_.hasRoom() || !codec().windowOpen() || wire_.writeFailed())
      return;
    bool moved = false;
    IntrusiveList<Http2ServerStream, Http2Blocked> waiting;
    waiting.takeAll(blocked_);
    while (Http2ServerStream* stream = waiting.front()) {
      stream->ListNode<Http2Blocked>::unlink();
      if (!wire_.hasRoom() || codec().sendable(*stream) == 0) {
        blocked_.pushBack(*stream);
        continue;
      }
      moved = true;
      progress(*stream);
    }
    endTouched();
    if (!moved) return;
  }
  context_.loop.resumeLater(*this);
}

void Http2ServerSession::flush() { wire_.flush(); }

// ---- Requests -----------------------------------------------------------------------------------

void Http2ServerSession::onHead(const Http2Event& event) {
  std::unique_ptr<Http2ServerStream> owned = context_.streams.take(context_.loop.buffers());
  Http2ServerStream& stream = *owned;
  Http2BlockReader reader(context_.limits.head, stream.memory_);
  HpackField field;
  while (codec().nextField(field)) reader.add(field);
  if (codec().failed()) {
    stream.reset();
    context_.streams.give(std::move(owned));
    return;
  }
  const Http2Fault fault = reader.takeRequest(event.end, stream.head_);
  stream.begin(*this);
  codec().open(stream, event.id, event.end);
  streams_.pushFront(std::move(owned));
  if (fault != Http2Fault::None) {
    refuse(stream, fault);
    return;
  }
  if (!stream.head_.upgrade.empty()) {
    stream.head_.fields.add("Sec-WebSocket-Key", makeWebSocketKey(stream.arena_));
  } else if (stream.head_.fields.has(HeaderId::ContentLength)) {
    stream.has_length = true;
    stream.content_expected = stream.head_.content_length;
  }
  stream.handler_ = &context_.handlers.beginHandler(stream);
  stream.handler_->onRequest();
}

// Malformed: reset (§8.1.1). Over a limit: answered, as there is nothing wrong with the connection.
void Http2ServerSession::refuse(Http2ServerStream& stream, Http2Fault fault) {
  const uint16_t status = http2FaultStatus(fault);
  context_.handlers.onRefused(peer_, status, http2FaultName(fault));
  if (status == 400) {
    codec().sendReset(stream, Http2Error::ProtocolError);
    codec().noteUseless();
  } else {
    ResponseHead head;
    head.status = status;
    head.fields.add("content-length", "0", HeaderId::ContentLength);
    stream.sendHead(head);
    if (!stream.remote_ended) codec().sendReset(stream, Http2Error::NoError);
  }
  endStream(stream);
}

void Http2ServerSession::onTrailers(const Http2Event& event) {
  auto& stream = static_cast<Http2ServerStream&>(*event.stream);
  Http2BlockReader reader(context_.limits.head, stream.trailer_memory_);
  HpackField field;
  while (codec().nextField(field)) reader.add(field);
  if (codec().failed()) return;
  if (reader.takeTrailers(stream.trailers_) != Http2Fault::None) {
    codec().sendReset(stream, Http2Error::ProtocolError);
    codec().noteUseless();
    stream.fail(ErrorCode::Reset, "malformed trailers");
    progress(stream);
    endStream(stream);
    return;
  }
  stream.has_trailers_ = stream.trailers_.size() > 0;
  progress(stream);
}

void Http2ServerSession::onContent(const Http2Event& event) {
  auto& stream = static_cast<Http2ServerStream&>(*event.stream);
  stream.arrived_.arrive(event.content);
  progress(stream);
  stream.arrived_.keep();
}

void Http2ServerSession::onReset(const Http2Event& event) {
  auto& stream = static_cast<Http2ServerStream&>(*event.stream);
  stream.fail(ErrorCode::Reset, "the client reset the stream");
  progress(stream);
  endStream(stream);
}

// ---- The end ------------------------------------------------------------------------------------

void Http2ServerSession::closeIfOver() {
  if (wire_.writeFailed()) return close();
  if (phase_ == Phase::Open) {
    if (codec().failed()) {
      context_.handlers.onRefused(peer_, 400, codec().failure());
      failAll(ErrorCode::Reset, codec().failure());
      phase_ = Phase::Closing;
    } else if (wire_.inputEnded()) {
      return close();
    } else if (codec().goAwaySent() && streams_.empty()) {
      phase_ = Phase::Closing;
    }
    flush();
  }
  if (phase_ == Phase::Closing && wire_.flushed()) {
    wire_.connection().closeWrite();
    phase_ = Phase::Lingering;
  }
  if (phase_ == Phase::Lingering) linger();
}

// A close with unread input would make the kernel send RST, which may overtake the GOAWAY.
void Http2ServerSession::linger() {
  while (wire_.discard(lingered_bytes_)) {
  }
  if (wire_.inputEnded() || lingered_bytes_ > kLingerBytesMax) close();
}

void Http2ServerSession::close() {
  if (phase_ == Phase::Closed) return;
  phase_ = Phase::Closed;
  in_turn_ = true;
  failAll(wire_.error() != 0 ? ErrorCode::Reset : ErrorCode::Closed, "the client is gone");
  timer_.disarm();
  static_cast<Resumable&>(*this).unlink();
  wire_.connection().stop();
  context_.on_closed(context_.owner, *this);
}

void Http2ServerSession::armTimer() {
  const ServerSessionLimits& limits = context_.limits;
  Wait wait = Wait::None;
  Duration time{};
  if (phase_ == Phase::Lingering) {
    wait = Wait::Linger;
    time = kLingerTime;
  } else if (!wire_.flushed()) {
    wait = Wait::Write;
    time = limits.idle;
  } else if (draining_ && !codec().goAwaySent()) {
    wait = Wait::Drain;
    time = kDrainTime;
  } else if (!codec().settingsReceived() || codec().midBlock()) {
    wait = Wait::Frame;
    time = limits.header_read;
  } else if (streams_.empty()) {
    wait = Wait::Idle;
    time = limits.idle;
  }
  const bool written = wait == Wait::Write && wire_.bytesWritten() != written_at_arming_;
  if (wait == wait_ && !written) return;
  wait_ = wait;
  written_at_arming_ = wire_.bytesWritten();
  if (wait == Wait::None) {
    timer_.disarm();
  } else {
    timer_.arm(context_.loop.now() + time);
  }
}

void Http2ServerSession::onTimer() {
  switch (std::exchange(wait_, Wait::None)) {
    case Wait::None:
      return;
    case Wait::Drain:
    case Wait::Idle:
      codec().sendGoAway(Http2Error::NoError, {});
      break;
    case Wait::Frame:
      context_.handlers.onRefused(peer_, 408, "header-timeout");
      codec().fail(Http2Error::NoError, "header-timeout");
      break;
    case Wait::Write:
    case Wait::Linger:
      close();
      return;
  }
  runTurn();
}

}  // namespace flamegate::proxy
