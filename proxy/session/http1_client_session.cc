#include "proxy/session/http1_client_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/session/connect_failure.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

constexpr size_t kReadBytes = BufferPool::kSmallBytes;

}  // namespace

Http1ClientSession::Http1ClientSession(ClientSessionContext& context, UniqueFd fd, void* endpoint,
                                       ClientSessionOwner& owner)
    : Http1ClientSession(context,
                         std::make_unique<Connection>(context.loop, std::move(fd), Readiness{}),
                         endpoint, owner) {}

Http1ClientSession::Http1ClientSession(ClientSessionContext& context,
                                       std::unique_ptr<Connection> connection, void* endpoint,
                                       ClientSessionOwner& owner)
    : ClientSession(endpoint),
      context_(context),
      owner_(owner),
      connection_(std::move(connection)),
      in_(context.loop.buffers()),
      out_(*connection_, context.loop.buffers()),
      connected_(connection_->secure() && connection_->transport()->handshakeDone()) {
  connection_->setEvents(*this);
}

Http1ClientSession::~Http1ClientSession() = default;

ClientStream& Http1ClientSession::begin(ClientStreamEvents& events) {
  onBegun();
  events_ = &events;
  response_ = context_.responses.take(context_.loop.buffers());
  out_.beginMessage();
  failed_ = request_ended_ = received_any_ = final_head_ = false;
  keep_alive_ = true;
  seen_ = head_bytes_ = 0;
  return *this;
}

void Http1ClientSession::end(ClientStream&) {
  events_ = nullptr;
  in_.consume(head_bytes_);
  head_bytes_ = 0;
  usable_ = keepable();
  response_->pinned.release();
  response_->trailers.clear();
  context_.responses.give(std::move(response_));
  in_.releaseIfEmpty();
  reused_ = true;
  onEnded(context_.loop.now());
}

// Whether the connection can carry another request.
bool Http1ClientSession::keepable() {
  return connected_ && !failed_ && !tunnel_ && !input_ended_ && final_head_ && keep_alive_ &&
         request_ended_ && out_.gathered().empty() && response_->body.done() && in_.empty() &&
         !connection_->peerClosed() && quiet();
}

// A read that filled its buffer to the brim leaves open whether there is more; TLS has messages of its
// own, such as tickets, which a read takes in.
bool Http1ClientSession::quiet() {
  if (connection_->secure() && connection_->readable()) {
    const IoResult got = connection_->read(in_, kReadBytes / 4);
    in_.releaseIfEmpty();
    return got.state == State::Blocked;
  }
  if (connection_->readable() && probeIdle()) connection_->readiness().readable = false;
  return !connection_->readable();
}

bool Http1ClientSession::probeIdle() const {
  char byte;
  return ::recv(connection_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Http1ClientSession::onReady() {
  if (!connected_) establish();
  if (events_ != nullptr) {
    events_->onUpstreamReady();
  } else if (connection_->peerClosed() || !quiet()) {
    usable_ = false;
    owner_.onSessionLost(*this, nullptr);
  }
}

// A new connection stands once it can be written to; with TLS once the handshake is over, which a read
// drives on.
void Http1ClientSession::establish() {
  if (!connection_->secure()) {
    connected_ = connection_->writable() && !connection_->readable();
    return;
  }
  const IoResult got = connection_->read(in_, kReadBytes / 4);
  in_.releaseIfEmpty();
  if (got.state == State::Eof || got.state == State::Failed) return failInput(got);
  connected_ = connection_->transport()->handshakeDone();
}

void Http1ClientSession::failConnect(int error) {
  Error why = connectFailure(*connection_, error);
  fail(why.code, std::move(why.detail));
}

void Http1ClientSession::fail(ErrorCode code, std::string detail) {
  if (failed_) return;
  failed_ = true;
  // RFC 9110 §9.2.2: what was certainly not processed may be sent again, by any method.
  Retry retry = Retry::No;
  if (!anythingSent()) {
    retry = Retry::Yes;
  } else if (!received_any_) {
    retry = Retry::IfUnanswered;
  }
  failure_ = Error{code, ErrorSource::Upstream, retry, std::move(detail)};
}

// ---- Request ------------------------------------------------------------------------------------

void Http1ClientSession::sendHead(const RequestHead& head) {
  method_ = head.method;
  out_.setFraming(head.framing);
  writeRequestHead(head, out_.gathered());
}

size_t Http1ClientSession::sendContent(std::string_view content) {
  if (failed_) return content.size();
  const size_t taken = out_.send(content);
  if (anythingSent()) connected_ = true;
  if (out_.failed()) fail(ErrorCode::Reset, std::string("write: ") + std::strerror(out_.error()));
  return taken;
}

void Http1ClientSession::sendEnd(const FieldList* trailers) {
  out_.end(trailers);
  request_ended_ = true;
}

void Http1ClientSession::flush() {
  if (failed_) return;
  out_.flush();
  if (anythingSent()) connected_ = true;
  if (!out_.failed()) return;
  // An early answer may lie in the socket although the application takes no more.
  if (connected_ && connection_->readable()) {
    out_.drop();
    keep_alive_ = false;
    return;
  }
  if (!connected_) return failConnect(out_.error());
  fail(ErrorCode::Reset, std::string("write: ") + std::strerror(out_.error()));
}

// ---- Response -----------------------------------------------------------------------------------

void Http1ClientSession::failInput(const IoResult& result) {
  input_ended_ = true;
  if (!connected_ && (connection_->secure() || result.state != State::Eof)) {
    failConnect(result.error);
  } else if (result.state == State::Eof) {
    fail(ErrorCode::Closed, "the application closed the connection before the end of its response");
  } else {
    fail(ErrorCode::Reset, std::string("read: ") + std::strerror(result.error));
  }
}

bool Http1ClientSession::readHead() {
  while (!failed_) {
    if (response_->pinned.holdsBlock() || head_bytes_ > 0) {
      // An interim head was delivered; what follows it is the next one.
      in_.consume(head_bytes_);
      head_bytes_ = 0;
      response_->pinned.release();
    }
    if (in_.size() > seen_) {
      const ParseResult parsed = parseHead();
      if (parsed.state == ParseResult::State::Complete) {
        takeHead(parsed.head_bytes);
        return true;
      }
      if (parsed.state == ParseResult::State::Bad) {
        fail(ErrorCode::Malformed, "response: " + std::string(http1FaultName(parsed.fault)));
        return false;
      }
      seen_ = in_.size();
    }
    const IoResult got = connection_->read(in_, seen_ == 0 ? kReadBytes : kReadBytes / 4);
    if (got.state == State::Blocked) return false;
    if (got.state != State::Done) {
      failInput(got);
      return false;
    }
    received_any_ = connected_ = true;
  }
  return false;
}

ParseResult Http1ClientSession::parseHead() {
  Http1Response& response = *response_;
  ParseResult parsed =
      parseResponseHead(in_.view(), seen_, method_, context_.limits, response.head);
  if (parsed.state != ParseResult::State::Bad) return parsed;
  size_t head_bytes = 0;
  response.repaired = repairResponseHead(in_.view(), head_bytes);
  if (response.repaired.empty()) {
    return in_.size() < context_.limits.head_bytes_max ? ParseResult{} : parsed;
  }
  parsed = parseResponseHead(response.repaired, 0, method_, context_.limits, response.head);
  parsed.head_bytes = head_bytes;
  return parsed;
}

void Http1ClientSession::takeHead(size_t head_bytes) {
  seen_ = 0;
  head_bytes_ = head_bytes;
  const ResponseHead& head = response_->head;
  if (head.interim()) return;
  final_head_ = true;
  keep_alive_ = keep_alive_ && head.keep_alive;
  response_->body.begin(head.framing, head.content_length);
}

void Http1ClientSession::pinHead() {
  if (head_bytes_ == 0) return;
  Buffer rest(context_.loop.buffers());
  rest.append(in_.view().substr(head_bytes_));
  response_->pinned = std::move(in_);
  in_ = std::move(rest);
  head_bytes_ = 0;
}

void Http1ClientSession::consumeInput(size_t bytes) {
  if (head_bytes_ > 0) {
    head_bytes_ += bytes;
  } else {
    in_.consume(bytes);
  }
}

std::string_view Http1ClientSession::content() {
  while (!failed_) {
    const std::string_view bytes = in_.view().substr(head_bytes_);
    if (tunnel_) {
      if (!bytes.empty()) return bytes;
    } else {
      const Http1BodyDecoder::Step step = response_->body.look(bytes);
      if (step.fault != Http1Fault::None) {
        fail(ErrorCode::Malformed, "response body: " + std::string(http1FaultName(step.fault)));
        return {};
      }
      if (!step.trailers.empty()) {
        response_->trailer_section = step.trailers;
        if (parseTrailers(response_->trailer_section, context_.limits, response_->trailers) !=
            Http1Fault::None) {
          fail(ErrorCode::Malformed, "response body: trailers");
          return {};
        }
      }
      consumeInput(step.framing_bytes);
      if (step.content_bytes > 0) return in_.view().substr(head_bytes_, step.content_bytes);
      if (response_->body.done()) return {};
    }
    if (input_ended_) return {};
    pinHead();
    const bool large = tunnel_ || response_->body.left() > 2 * kReadBytes;
    const IoResult got =
        connection_->read(in_, large && in_.empty() ? BufferPool::kLargeBytes : kReadBytes / 4);
    if (got.state == State::Done) continue;
    if (got.state == State::Blocked) {
      in_.releaseIfEmpty();
      return {};
    }
    if (got.state == State::Eof && (tunnel_ || endsWithConnection())) {
      input_ended_ = true;
      response_->body.endOfInput();
      return {};
    }
    failInput(got);
  }
  return {};
}

// With TLS, a close without close_notify may have cut the content short (RFC 9112 §9.8).
bool Http1ClientSession::endsWithConnection() const {
  const Transport* transport = connection_->transport();
  return response_->body.framing() == Framing::UntilClose &&
         (transport == nullptr || transport->fault() == TransportFault::None);
}

void Http1ClientSession::consume(size_t bytes) {
  consumeInput(bytes);
  if (!tunnel_) response_->body.take(bytes);
}

bool Http1ClientSession::responseEnded() const {
  return tunnel_ ? input_ended_ : final_head_ && response_->body.done();
}

const FieldList* Http1ClientSession::trailers() const {
  return response_->trailers.size() > 0 ? &response_->trailers : nullptr;
}

void Http1ClientSession::startTunnel() {
  tunnel_ = true;
  keep_alive_ = false;
  out_.setFraming(Framing::UntilClose);
}

}  // namespace flamegate::proxy
