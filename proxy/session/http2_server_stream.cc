// The stream that a handler sees.
#include "proxy/session/http2_server_session.h"
#include "proxy/session/websocket.h"

namespace flamegate::proxy {

const Peer& Http2ServerStream::peer() const { return session_->peer_; }

void Http2ServerStream::reset() {
  session_ = nullptr;
  handler_ = nullptr;
  memory_.release();
  trailer_memory_.release();
  trailers_.clear();
  arena_.reset();
  arrived_.clear();
  bytes_sent_ = last_frame_ = 0;
  failed_ = has_trailers_ = head_sent_ = no_content_ = false;
  response_ended_ = broken_off_ = tunnel_ = false;
}

void Http2ServerStream::fail(ErrorCode code, std::string detail) {
  if (failed_) return;
  failed_ = true;
  failure_ = Error{code, ErrorSource::Client, Retry::No, std::move(detail)};
}

// ---- Request ------------------------------------------------------------------------------------

void Http2ServerStream::consume(size_t bytes) {
  arrived_.consume(bytes);
  session_->codec().consume(*this, bytes);
}

// The request of a tunnel has no content; what comes then belongs to the tunnel.
bool Http2ServerStream::requestEnded() const {
  if (!head_.upgrade.empty() && !tunnel_) return true;
  return remote_ended && arrived_.empty();
}

// ---- Response -----------------------------------------------------------------------------------

void Http2ServerStream::sendBlock(std::span<const HpackField> fields, bool end) {
  if (local_ended) return;
  bytes_sent_ += session_->wire_.sendBlock(*this, fields, end);
}

void Http2ServerStream::sendInterim(const ResponseHead& head) {
  Http2BlockWriter writer(session_->context_.loop.buffers(), session_->context_.shared.fields);
  sendBlock(writer.response(head), false);
}

void Http2ServerStream::sendHead(ResponseHead& head) {
  head_sent_ = true;
  const bool tunnel = head.status == 101;
  if (head.framing == Framing::UntilClose) head.framing = Framing::Chunked;
  no_content_ = !tunnel && (head.framing == Framing::None || head_.method == Method::Head);
  Http2BlockWriter writer(session_->context_.loop.buffers(), session_->context_.shared.fields);
  sendBlock(writer.response(head), no_content_);
}

size_t Http2ServerStream::sendContent(std::string_view content) {
  if (no_content_ || local_ended) return content.size();
  const size_t taken = session_->wire_.send(*this, content, last_frame_);
  bytes_sent_ += taken;
  if (taken < content.size() && !ListNode<Http2Blocked>::linked()) {
    session_->blocked_.pushBack(*this);
  }
  return taken;
}

void Http2ServerStream::sendEnd(const FieldList* trailers) {
  response_ended_ = true;
  session_->codec().noteUseful();
  if (local_ended) return;
  if (trailers != nullptr) {
    Http2BlockWriter writer(session_->context_.loop.buffers(), session_->context_.shared.fields);
    const std::span<const HpackField> fields = writer.trailers(*trailers);
    if (!fields.empty()) return sendBlock(fields, true);
  }
  session_->wire_.sendEnd(*this, last_frame_);
}

void Http2ServerStream::finishTurn() { session_->touch(*this); }

}  // namespace flamegate::proxy
