#include "proxy/session/http1_output.h"

#include <algorithm>

#include "proxy/http/http1_writer.h"

namespace flamegate::proxy {
namespace {

// Content up to this size is copied behind the head, so that both leave in one call.
constexpr size_t kCoalesceBytes = BufferPool::kSmallBytes;
// Larger pieces stay with their source while the peer is slow.
constexpr size_t kGatheredPieceMax = kCoalesceBytes / 4;

iovec pieceOf(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

size_t Http1Output::send(std::string_view content) {
  if (failed_ || framing_ == Framing::None) return content.size();
  const bool chunked = framing_ == Framing::Chunked;
  size_t taken = 0;
  while (taken < content.size()) {
    std::string_view piece = content.substr(taken);
    if (chunked) {
      if (chunk_left_ == 0) {
        char line[20];
        gathered_.append({line, writeChunkLine(piece.size(), line)});
        chunk_left_ = piece.size();
      }
      piece = piece.substr(0, chunk_left_);
    }
    const size_t sent = writeThrough(piece);
    taken += sent;
    if (chunked) {
      chunk_left_ -= sent;
      if (chunk_left_ == 0) gathered_.append("\r\n");
    }
    if (sent < piece.size()) break;
  }
  return taken;
}

size_t Http1Output::writeThrough(std::string_view content) {
  const size_t together = gathered_.size() + content.size();
  // TLS may have to read before it can write, so only a plain socket is known to be full.
  const bool full = !connection_.writable() && !connection_.secure();
  if (full && together > kCoalesceBytes &&
      (together > kGatheredBytesMax || content.size() > kGatheredPieceMax)) {
    return 0;
  }
  if (full || together <= kCoalesceBytes) {
    gathered_.append(content);
    return content.size();
  }
  const std::string_view head = gathered_.view();
  const iovec pieces[2] = {pieceOf(head), pieceOf(content)};
  size_t bytes = 0;
  if (!write(std::span(pieces).subspan(head.empty() ? 1 : 0), bytes) && failed_) {
    return content.size();
  }
  const size_t of_head = std::min(bytes, head.size());
  gathered_.consume(of_head);
  gathered_.releaseIfEmpty();
  return bytes - of_head;
}

void Http1Output::end(const FieldList* trailers) {
  if (framing_ == Framing::Chunked && !failed_) writeChunkedEnd(trailers, gathered_);
}

void Http1Output::flush() {
  while (!gathered_.empty() && !failed_) {
    const iovec piece = pieceOf(gathered_.view());
    size_t bytes = 0;
    if (!write({&piece, 1}, bytes)) return;
    gathered_.consume(bytes);
  }
  gathered_.releaseIfEmpty();
}

// False when nothing was written: the peer takes nothing now, or failed() is set.
bool Http1Output::write(std::span<const iovec> pieces, size_t& bytes) {
  const IoResult result = connection_.write(pieces);
  bytes = result.bytes;
  bytes_sent_ += bytes;
  if (result.state == IoResult::State::Done) return true;
  if (result.state != IoResult::State::Blocked) {
    failed_ = true;
    error_ = result.error;
  }
  return false;
}

}  // namespace flamegate::proxy
