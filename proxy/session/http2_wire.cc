#include "proxy/session/http2_wire.h"

#include <algorithm>
#include <utility>

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

constexpr size_t kFlagsAt = 4;  // in the head of a frame

}  // namespace

Http2Wire::Http2Wire(std::unique_ptr<Connection> connection, Buffer input, BufferPool& pool,
                     const Http2Options& options, std::shared_ptr<HpackMemory> hpack)
    : connection_(std::move(connection)),
      in_(std::move(input)),
      out_(pool),
      hpack_(std::move(hpack)),
      codec_(options, *hpack_, pool, out_) {}

Http2Event Http2Wire::next() {
  cut_short_ = false;
  for (;;) {
    in_.consume(std::exchange(used_, 0));
    Http2Event event = codec_.next(in_.view());
    used_ = event.used;
    if (event.kind != Http2Event::Kind::NeedInput) return event;
    in_.consume(std::exchange(used_, 0));
    if (input_ended_ || !read()) return event;
  }
}

bool Http2Wire::read() {
  if (out_.size() > kUnreadBytesMax) flush();
  cut_short_ = out_.size() > kUnreadBytesMax || turn_bytes_ >= kTurnBytesMax;
  if (cut_short_) return false;
  size_t room = in_.empty() ? BufferPool::kSmallBytes : BufferPool::kSmallBytes / 4;
  if (filled_) room = BufferPool::kLargeBytes - in_.size();
  const IoResult got = connection_->read(in_, room);
  if (got.state == State::Done) {
    turn_bytes_ += got.bytes;
    filled_ = in_.room() == 0;
    return true;
  }
  if (got.state == State::Blocked) {
    in_.releaseIfEmpty();
    return false;
  }
  input_ended_ = true;
  error_ = got.error;
  return false;
}

bool Http2Wire::makeRoom() {
  if (!hasRoom()) flush();
  return hasRoom();
}

size_t Http2Wire::sendBlock(Http2Stream& stream, std::span<const HpackField> fields, bool end) {
  const size_t before = out_.size();
  codec_.sendBlock(stream, fields, end);
  return out_.size() - before;
}

size_t Http2Wire::send(Http2Stream& stream, std::string_view content, uint64_t& last_frame) {
  content = content.substr(0, codec_.sendable(stream));
  size_t taken = 0;
  while (taken < content.size() && makeRoom()) {
    const std::string_view piece = content.substr(taken, codec_.frameBytesMax());
    last_frame = written_ + out_.size();
    char* const at = out_.prepare(kHttp2FrameHeadBytes + piece.size()).data();
    codec_.beginData(stream, piece.size(), false, at);
    std::copy(piece.begin(), piece.end(), at + kHttp2FrameHeadBytes);
    out_.commit(kHttp2FrameHeadBytes + piece.size());
    taken += piece.size();
  }
  return taken;
}

void Http2Wire::sendEnd(Http2Stream& stream, uint64_t last_frame) {
  if (stream.local_ended) return;
  if (last_frame == 0 || last_frame < written_) {
    codec_.sendEnd(stream);
    return;
  }
  out_.data()[last_frame - written_ + kFlagsAt] |= static_cast<char>(http2_flag::kEndStream);
  stream.local_ended = true;
}

void Http2Wire::flush() {
  while (!out_.empty() && !write_failed_) {
    const IoResult result = connection_->write(out_.view());
    if (result.state == State::Blocked) return;
    if (result.state != State::Done) {
      write_failed_ = true;
      error_ = result.error;
      break;
    }
    written_ += result.bytes;
    out_.consume(result.bytes);
  }
  out_.releaseIfEmpty();
}

bool Http2Wire::discard(size_t& bytes) {
  in_.clear();
  used_ = 0;
  const IoResult got = connection_->read(in_, BufferPool::kSmallBytes);
  bytes += got.bytes;
  if (got.state == State::Done) return true;
  if (got.state != State::Blocked) input_ended_ = true;
  return false;
}

}  // namespace flamegate::proxy
