// What one side of an HTTP/1 connection sends: heads and content, framed, gathered and written.
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/base/buffer.h"
#include "proxy/http/head.h"
#include "proxy/net/connection.h"

namespace flamegate::proxy {

// Gathers heads and small content, so that they leave in one call, and writes large content from
// where it is. After a failure content is dropped; the owner learns of it by failed(). Owner: a
// session, beside its connection, which outlives it. Thread: the loop's.
class Http1Output {
 public:
  // More than this is not gathered for a peer that does not read.
  static constexpr size_t kGatheredBytesMax = 64 * 1024;

  Http1Output(Connection& connection, BufferPool& pool)
      : connection_(connection), gathered_(pool) {}

  // Of the messages that follow. What is gathered stays, as it belongs to earlier ones.
  void beginMessage() {
    bytes_sent_ = 0;
    chunk_left_ = 0;
    failed_ = false;
  }
  // How the content that follows is framed; None: it is dropped.
  void setFraming(Framing framing) { framing_ = framing; }
  Framing framing() const { return framing_; }

  // Where heads, and small bodies of our own, are written to.
  Buffer& gathered() { return gathered_; }
  const Buffer& gathered() const { return gathered_; }

  // Takes what it can and returns how much.
  size_t send(std::string_view content);
  // Ends chunked content; `trailers` may be null.
  void end(const FieldList* trailers);
  // Writes what is gathered, as far as the peer takes it.
  void flush();
  // Forgets what is gathered, and that it could not be written.
  void drop() {
    gathered_.release();
    failed_ = false;
  }

  // The peer is known to be gone.
  void giveUp() { failed_ = true; }
  bool failed() const { return failed_; }
  int error() const { return error_; }  // of the failure: an errno value, or 0
  // Since beginMessage().
  uint64_t bytesSent() const { return bytes_sent_; }

 private:
  size_t writeThrough(std::string_view content);
  bool write(std::span<const iovec> pieces, size_t& bytes);

  Connection& connection_;
  Buffer gathered_;
  uint64_t bytes_sent_ = 0;
  uint64_t chunk_left_ = 0;  // of the chunk that was announced
  int error_ = 0;
  Framing framing_ = Framing::None;
  bool failed_ = false;
};

}  // namespace flamegate::proxy
