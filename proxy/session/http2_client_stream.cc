// The stream that an exchange borrows.
#include <utility>

#include "proxy/session/http2_client_session.h"
#include "proxy/session/websocket.h"

namespace flamegate::proxy {

void Http2ClientStream::begin(Http2ClientSession& session, ClientStreamEvents& events,
                              bool reused) {
  session_ = &session;
  events_ = &events;
  reused_ = reused;
}

void Http2ClientStream::reset() {
  session_ = nullptr;
  events_ = nullptr;
  memory_.release();
  trailer_memory_.release();
  trailers_.clear();
  arena_.reset();
  arrived_.clear();
  websocket_key_ = {};
  head_at_ = last_frame_ = 0;
  reused_ = failed_ = tunnel_asked_ = request_ended_ = head_ready_ = answered_ = false;
  response_complete_ = has_trailers_ = false;
  local_ended = remote_ended = head_received = false;
}

void Http2ClientStream::fail(ErrorCode code, Retry retry, std::string detail) {
  if (failed_) return;
  failed_ = true;
  failure_ = Error{code, ErrorSource::Upstream, retry, std::move(detail)};
}

Retry Http2ClientStream::retryAfterLoss() const {
  if (id == 0 || session_->wire_.bytesWritten() <= head_at_) return Retry::Yes;
  return answered_ ? Retry::No : Retry::IfUnanswered;
}

// ---- Request ------------------------------------------------------------------------------------

void Http2ClientStream::sendHead(const RequestHead& head) {
  Http2Codec& codec = session_->codec();
  method_ = head.method;
  tunnel_asked_ = !head.upgrade.empty();
  if (tunnel_asked_ && !codec.peerConnectProtocol()) {
    return fail(ErrorCode::Unsupported, Retry::No, "the application has no extended CONNECT");
  }
  if (!codec.openNew(*this)) {
    session_->spent_ = true;
    return fail(ErrorCode::Closed, Retry::Yes, "the connection has no stream numbers left");
  }
  if (tunnel_asked_) {
    const Field* key = head.fields.find("sec-websocket-key");
    if (key != nullptr) websocket_key_ = arena_.copy(key->value());
  }
  head_at_ = session_->wire_.bytesGathered();
  Http2BlockWriter writer(session_->context_.loop.buffers(), session_->context_.shared.fields);
  const bool end = head.framing == Framing::None && !tunnel_asked_;
  session_->wire_.sendBlock(*this, writer.request(head, session_->secure_), end);
  session_->touch();
}

size_t Http2ClientStream::sendContent(std::string_view content) {
  if (failed_ || local_ended) return content.size();
  const size_t taken = session_->wire_.send(*this, content, last_frame_);
  if (taken < content.size() && !ListNode<Http2Blocked>::linked()) {
    session_->blocked_.pushBack(*this);
  }
  session_->touch();
  return taken;
}

void Http2ClientStream::sendEnd(const FieldList* trailers) {
  request_ended_ = true;
  if (failed_ || local_ended || tunnel_asked_) return;
  session_->touch();
  if (trailers != nullptr) {
    Http2BlockWriter writer(session_->context_.loop.buffers(), session_->context_.shared.fields);
    const std::span<const HpackField> fields = writer.trailers(*trailers);
    if (!fields.empty()) {
      session_->wire_.sendBlock(*this, fields, true);
      return;
    }
  }
  session_->wire_.sendEnd(*this, last_frame_);
}

// With those of others at the end of the turn.
void Http2ClientStream::flush() { session_->touch(); }

void Http2ClientStream::closeWrite() {
  if (failed_ || local_ended) return;
  session_->wire_.sendEnd(*this, last_frame_);
  session_->touch();
}

// ---- Response -----------------------------------------------------------------------------------

// As an HTTP/1 application would have accepted the upgrade.
void Http2ClientStream::takeTunnelHead() {
  head_.status = 101;
  head_.reason = "Switching Protocols";
  head_.upgrade = "websocket";
  head_.framing = Framing::None;
  has_length = false;
  head_.fields.removeAll(HeaderId::ContentLength);
  if (!websocket_key_.empty()) {
    head_.fields.add("Sec-WebSocket-Accept", webSocketAccept(websocket_key_, arena_));
  }
}

void Http2ClientStream::consume(size_t bytes) {
  arrived_.consume(bytes);
  session_->codec().consume(*this, bytes);
  session_->touch();
}

bool Http2ClientStream::responseEnded() const { return response_complete_ && arrived_.empty(); }

}  // namespace flamegate::proxy
