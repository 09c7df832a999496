// The connection below an HTTP/2 session, of either side: reads frames, gathers and writes them.
#pragma once

#include <memory>
#include <string_view>

#include "proxy/base/buffer.h"
#include "proxy/http/http2_codec.h"
#include "proxy/http/http2_message.h"
#include "proxy/net/connection.h"

namespace flamegate::proxy {

// What all sessions of one loop share. Outlives them.
struct Http2Shared {
  // Kept by each connection, whose end may be put off beyond that of the rest.
  std::shared_ptr<HpackMemory> hpack = std::make_shared<HpackMemory>();
  HpackFields fields;  // of the block that is being written
};

// Frames of all streams gather in one buffer, and leave in one call at the end of a turn.
// Owner: a session. Thread: the loop's.
class Http2Wire {
 public:
  // Content is not gathered beyond this for a peer that does not read.
  static constexpr size_t kGatheredBytesMax = 64 * 1024;
  // With more than this to write, nothing is read: what a peer may ask for it must take as well.
  static constexpr size_t kUnreadBytesMax = 2 * kGatheredBytesMax;
  // Read in one turn; then other connections get theirs.
  static constexpr size_t kTurnBytesMax = 512 * 1024;

  // `input` was read from the connection already.
  Http2Wire(std::unique_ptr<Connection> connection, Buffer input, BufferPool& pool,
            const Http2Options& options, std::shared_ptr<HpackMemory> hpack);

  Connection& connection() { return *connection_; }
  const Connection& connection() const { return *connection_; }
  Http2Codec& codec() { return codec_; }
  const Http2Codec& codec() const { return codec_; }

  void beginTurn() { turn_bytes_ = 0; }
  // The next event; reads when nothing is there. NeedInput: nothing more this turn. What an event
  // points to lasts until the next call.
  Http2Event next();
  // The turn ended before the input did, and nothing stands in the way of another: no event will
  // ask for it. Otherwise the socket will tell when it takes more.
  bool mayGoOn() const { return cut_short_ && hasRoom(); }
  // The peer ended its direction, or the connection broke.
  bool inputEnded() const { return input_ended_; }
  bool idle() const { return in_.empty(); }

  // Sends a field block; returns its size with frame heads.
  size_t sendBlock(Http2Stream& stream, std::span<const HpackField> fields, bool end);
  // Takes what the windows and the socket leave room for, and returns how much.
  size_t send(Http2Stream& stream, std::string_view content, uint64_t& last_frame);
  // Ends our direction of the stream: by a flag in its last DATA frame when that is still here.
  // `last_frame` is what send() set.
  void sendEnd(Http2Stream& stream, uint64_t last_frame);
  bool hasRoom() const { return out_.size() < kGatheredBytesMax; }
  // Writes what is gathered, as far as the peer takes it.
  void flush();
  bool flushed() const { return out_.empty(); }
  bool writeFailed() const { return write_failed_; }
  // An errno value, or 0.
  int error() const { return error_; }
  // In all.
  uint64_t bytesWritten() const { return written_; }
  uint64_t bytesGathered() const { return written_ + out_.size(); }

  // Reads and drops, while the connection is being closed; false once nothing more is to be
  // expected.
  bool discard(size_t& bytes);

 private:
  bool read();
  bool makeRoom();

  std::unique_ptr<Connection> connection_;
  Buffer in_;
  Buffer out_;
  std::shared_ptr<HpackMemory> hpack_;
  Http2Codec codec_;
  size_t used_ = 0;  // of in_, by the last event
  size_t turn_bytes_ = 0;
  uint64_t written_ = 0;  // in all
  int error_ = 0;
  bool filled_ = false;  // the last read filled its room
  bool cut_short_ = false;
  bool input_ended_ = false;
  bool write_failed_ = false;
};

}  // namespace flamegate::proxy
