#include "proxy/session/http2_client_session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "proxy/session/connect_failure.h"

namespace flamegate::proxy {
namespace {

using Kind = Http2Event::Kind;

constexpr uint32_t kStreamWindow = 128 * 1024;
// Large enough for all streams, so that a slow client does not hold up what others wait for.
constexpr uint32_t kConnectionWindow = 16 * 1024 * 1024;
constexpr size_t kStreamsMax = kConnectionWindow / kStreamWindow;
constexpr int kRoundsPerTurn = 8;

Http2Options optionsOf(const Http1Limits& limits) {
  return {.server = false,
          .stream_window = kStreamWindow,
          .connection_window = kConnectionWindow,
          .block_bytes_max = static_cast<uint32_t>(limits.head_bytes_max)};
}

}  // namespace

Http2ClientSession::Http2ClientSession(Http2ClientContext& context,
                                       std::unique_ptr<Connection> connection, Buffer input,
                                       void* endpoint, ClientSessionOwner& owner)
    : ClientSession(endpoint),
      context_(context),
      owner_(owner),
      secure_(connection->secure()),
      wire_(std::move(connection), std::move(input), context.loop.buffers(),
            optionsOf(context.limits), context.shared.hpack) {
  wire_.connection().setEvents(*this);
  codec().start();
}

Http2ClientSession::~Http2ClientSession() = default;

Result<> Http2ClientSession::start() {
  if (!wire_.connection().started()) {
    if (auto started = wire_.connection().start(); !started) return started;
  }
  touch();
  return {};
}

// ---- Loans --------------------------------------------------------------------------------------

size_t Http2ClientSession::streamsFree() const {
  if (spent_ || !stood_) return 0;
  const size_t most = std::min<size_t>(codec().peerStreamsMax(), kStreamsMax);
  return most > lent() ? most - lent() : 0;
}

ClientStream& Http2ClientSession::begin(ClientStreamEvents& events) {
  onBegun();
  Http2ClientStream& stream = streams_.pushFront(context_.streams.take(context_.loop.buffers()));
  stream.begin(*this, events, begun_++ > 0);
  return stream;
}

void Http2ClientSession::end(ClientStream& lent_stream) {
  auto& stream = static_cast<Http2ClientStream&>(lent_stream);
  if (current_ == &stream) current_ = nullptr;
  stream.ListNode<Http2Blocked>::unlink();
  stream.ListNode<Http2Failed>::unlink();
  if (stream.id != 0) {
    if (!stream.local_ended || !stream.remote_ended) codec().sendReset(stream, Http2Error::Cancel);
    codec().close(stream);
    touch();
  }
  std::unique_ptr<Http2ClientStream> owned = streams_.take(stream);
  owned->reset();
  context_.streams.give(std::move(owned));
  onEnded(context_.loop.now());
}

void Http2ClientSession::retire() {
  retired_ = true;
  if (!lost_) {
    codec().sendGoAway(Http2Error::NoError, {});
    wire_.flush();
  }
  wire_.connection().stop();
  static_cast<Resumable&>(*this).unlink();
}

// Frames may wait to be read; only an end is of interest.
bool Http2ClientSession::probeIdle() const {
  char byte;
  const ssize_t got = ::recv(wire_.connection().fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

// ---- Turns --------------------------------------------------------------------------------------

void Http2ClientSession::touch() {
  if (!in_turn_ && !retired_) context_.loop.resumeLater(*this);
}

void Http2ClientSession::runTurn() {
  if (in_turn_ || lost_ || retired_) return;
  const size_t free_before = streamsFree();
  in_turn_ = true;
  wire_.beginTurn();
  readEvents();
  serveBlocked();
  wire_.flush();
  checkEnd();
  tellFailed();
  wire_.flush();
  in_turn_ = false;
  if (retired_) return;
  if (spent_ && lent() == 0) {
    owner_.onSessionLost(*this, stood_ ? nullptr : &failure_);
    return;
  }
  if (!lost_ && wire_.mayGoOn()) touch();
  if (free_before == 0 && streamsFree() > 0) owner_.onStreamsFree(*this);
}

void Http2ClientSession::readEvents() {
  for (;;) {
    const Http2Event event = wire_.next();
    if (event.kind == Kind::NeedInput || event.kind == Kind::Failed) break;
    onEvent(event);
  }
  stood_ = codec().settingsReceived();
}

void Http2ClientSession::onEvent(const Http2Event& event) {
  auto* stream = static_cast<Http2ClientStream*>(event.stream);
  switch (event.kind) {
    case Kind::Head:
      stream->head_received ? onTrailers(*stream) : onHead(*stream, event.end);
      return;
    case Kind::Content:
      onContent(event);
      return;
    case Kind::Reset:
      onReset(event);
      return;
    case Kind::GoAway:
      onGoAway(event);
      return;
    default:
      return;
  }
}

bool Http2ClientSession::progress(Http2ClientStream& stream) {
  current_ = &stream;
  stream.events_->onUpstreamReady();
  return std::exchange(current_, nullptr) == &stream;
}

// Streams whose content was not taken for want of room, in turn.
void Http2ClientSession::serveBlocked() {
  for (int round = 0; round < kRoundsPerTurn; ++round) {
    wire_.flush();
    if (blocked_.empty() || !wire_.hasRoom() || !codec().windowOpen()) return;
    bool moved = false;
    IntrusiveList<Http2ClientStream, Http2Blocked> waiting;
    waiting.takeAll(blocked_);
    while (Http2ClientStream* stream = waiting.front()) {
      stream->ListNode<Http2Blocked>::unlink();
      if (!wire_.hasRoom() || codec().sendable(*stream) == 0) {
        blocked_.pushBack(*stream);
        continue;
      }
      moved = true;
      progress(*stream);
    }
    if (!moved) return;
  }
  context_.loop.resumeLater(*this);
}

void Http2ClientSession::tellFailed() {
  while (Http2ClientStream* stream = failed_.front()) {
    stream->ListNode<Http2Failed>::unlink();
    progress(*stream);
  }
}

// ---- Responses ----------------------------------------------------------------------------------

void Http2ClientSession::onHead(Http2ClientStream& stream, bool end) {
  stream.memory_.clear();
  stream.answered_ = true;
  Http2BlockReader reader(context_.limits, stream.memory_);
  HpackField field;
  while (codec().nextField(field)) reader.add(field);
  if (codec().failed()) return;
  const Http2Fault fault = reader.takeResponse(end, stream.method_, stream.head_);
  if (fault != Http2Fault::None) return refuseResponse(stream, http2FaultName(fault));
  ResponseHead& head = stream.head_;
  if (!head.interim()) {
    stream.head_received = true;
    stream.response_complete_ = end;
    stream.has_length =
        head.framing == Framing::Length || (head.framing == Framing::None && !stream.tunnel_asked_);
    stream.content_expected = head.framing == Framing::Length ? head.content_length : 0;
    if (stream.tunnel_asked_ && head.status / 100 == 2) stream.takeTunnelHead();
  }
  stream.head_ready_ = true;
  progress(stream);
}

void Http2ClientSession::onTrailers(Http2ClientStream& stream) {
  Http2BlockReader reader(context_.limits, stream.trailer_memory_);
  HpackField field;
  while (codec().nextField(field)) reader.add(field);
  if (codec().failed()) return;
  const Http2Fault fault = reader.takeTrailers(stream.trailers_);
  if (fault != Http2Fault::None) return refuseResponse(stream, http2FaultName(fault));
  stream.has_trailers_ = stream.trailers_.size() > 0;
  stream.response_complete_ = true;
  progress(stream);
}

void Http2ClientSession::refuseResponse(Http2ClientStream& stream, std::string_view fault) {
  codec().sendReset(stream, Http2Error::ProtocolError);
  stream.fail(ErrorCode::Malformed, Retry::No, "response: " + std::string(fault));
  progress(stream);
}

void Http2ClientSession::onContent(const Http2Event& event) {
  auto& stream = static_cast<Http2ClientStream&>(*event.stream);
  stream.response_complete_ = event.end;
  stream.arrived_.arrive(event.content);
  if (progress(stream)) stream.arrived_.keep();
}

// §8.1: an application that has answered in full may not want the rest of the request.
void Http2ClientSession::onReset(const Http2Event& event) {
  auto& stream = static_cast<Http2ClientStream&>(*event.stream);
  if (!stream.response_complete_) {
    const bool unprocessed = event.error == Http2Error::RefusedStream;
    // The connection is well: this says nothing of one that was being closed.
    if (!unprocessed) stream.reused_ = false;
    stream.fail(ErrorCode::Reset, unprocessed ? Retry::Yes : stream.retryAfterLoss(),
                "the application reset the stream with code " +
                    std::to_string(static_cast<uint32_t>(event.error)));
  }
  progress(stream);
}

// §6.8: what is above the number was not processed; the rest goes on to its end.
void Http2ClientSession::onGoAway(const Http2Event& event) {
  spent_ = true;
  for (Http2ClientStream* stream = streams_.front(); stream != nullptr;
       stream = streams_.next(*stream)) {
    if (stream->id <= event.id || stream->failed_) continue;
    stream->fail(ErrorCode::Reset, Retry::Yes, "the application takes no more requests");
    failed_.pushBack(*stream);
  }
}

// ---- The end ------------------------------------------------------------------------------------

void Http2ClientSession::checkEnd() {
  if (codec().failed()) {
    lose(ErrorCode::Malformed, codec().failure());
  } else if (wire_.inputEnded() || wire_.writeFailed()) {
    const int error = wire_.error();
    if (!stood_ && (error != 0 || secure_)) {
      const Error why = connectFailure(wire_.connection(), error);
      lose(why.code, why.detail);
      return;
    }
    lose(stood_ || error == 0 ? ErrorCode::Reset : ErrorCode::Refused,
         error != 0 ? std::strerror(error) : "the application closed the connection");
  }
}

void Http2ClientSession::lose(ErrorCode code, std::string_view detail) {
  spent_ = lost_ = true;
  failure_ = Error{code, ErrorSource::Upstream, Retry::Yes, std::string(detail)};
  for (Http2ClientStream* stream = streams_.front(); stream != nullptr;
       stream = streams_.next(*stream)) {
    if (stream->failed_ || stream->response_complete_) continue;
    stream->fail(code, code == ErrorCode::Malformed ? Retry::No : stream->retryAfterLoss(),
                 std::string(detail));
    if (!stream->ListNode<Http2Failed>::linked()) failed_.pushBack(*stream);
  }
  wire_.connection().stop();
}

}  // namespace flamegate::proxy
