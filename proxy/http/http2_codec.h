// One HTTP/2 connection (RFC 9113) as a protocol: bytes in, events and bytes out. No I/O, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/base/buffer.h"
#include "proxy/http/hpack.h"
#include "proxy/http/http2_frame.h"

namespace flamegate::proxy {

// What the codec knows of a stream that is open. Owner: a session, whose streams derive from it.
struct Http2Stream {
  uint32_t id = 0;          // 0: not open
  int64_t send_window = 0;  // content bytes that the peer takes; negative after a change (§6.9.2)
  int64_t receive_window = 0;     // content bytes that the peer may send
  uint32_t held = 0;              // received and not consumed
  uint32_t consumed = 0;          // and not yet announced to the peer
  uint64_t content_expected = 0;  // by Content-Length, when has_length
  uint64_t content_received = 0;
  bool has_length = false;
  bool head_received = false;  // the final one; content may follow
  bool local_ended = false;    // we sent END_STREAM
  bool remote_ended = false;   // the peer did
  bool reset = false;          // we sent RST_STREAM
  Http2Stream* next_in_bucket = nullptr;
};

// What a piece of input means.
struct Http2Event {
  enum class Kind : uint8_t {
    Handled,    // inside the codec alone; next() never returns it
    NeedInput,  // nothing more can be made of what is there
    Head,     // a field block, to be read by nextField() before next(). `stream` is null for a new
              // one, which the caller opens (or refuses) under `id`
    Content,  // `content` of `stream`, maybe empty when `end`
    Reset,    // `stream` ended, by the peer or for a fault of its own; the caller closes it
    Room,     // more may be sent on `stream`, or on any when it is null
    Drained,  // the peer has seen announceShutdown()
    GoAway,   // the peer takes no streams above `id`
    Failed,   // the connection is over; the reason lies in the output and in failure()
  };
  Kind kind = Kind::Handled;
  bool end = false;                        // Head, Content: the peer ends the stream
  Http2Error error = Http2Error::NoError;  // Reset, GoAway
  uint32_t id = 0;
  Http2Stream* stream = nullptr;
  std::string_view content = {};  // points into the input
  size_t used = 0;                // bytes of the input that are done with; `content` is among them
};

struct Http2Options {
  bool server = true;
  uint32_t streams_max = 100;  // that the peer may have open; servers
  uint32_t stream_window = kHttp2DefaultWindow;
  uint32_t connection_window = 1024 * 1024;
  uint32_t block_bytes_max = 64 * 1024;  // of a compressed field block in several frames
  bool connect_protocol = true;          // RFC 8441; servers
};

// Owner: a session. Thread: its loop's.
//
// Each frame that costs us more than it brings is paid from a budget that useful exchanges refill;
// a peer that exceeds it gets GOAWAY(ENHANCE_YOUR_CALM) (§10.5).
class Http2Codec {
 public:
  static constexpr int kBudget = 1000;
  static constexpr int kContinuationsMax = 8;

  // Output is appended to `out`.
  Http2Codec(const Http2Options& options, HpackMemory& memory, BufferPool& pool, Buffer& out);

  // Sends our preface: SETTINGS, for a client behind the connection preface.
  void start();

  // ---- Input ----
  Http2Event next(std::string_view input);
  // Fields of the block that was announced last; false at its end or once the connection failed.
  bool nextField(HpackField& field);
  // Within a frame or block whose rest is awaited.
  bool midBlock() const { return block_stream_ != 0; }
  bool failed() const { return failed_; }
  // For logs; a literal.
  std::string_view failure() const { return failure_; }
  // Gives back some of the budget, as time passes.
  void refill(int amount);

  // ---- Streams ----
  // A peer's new stream, after its Head; `end` as that event said.
  void open(Http2Stream& stream, uint32_t id, bool end);
  // One of ours; false when the connection has no numbers left.
  bool openNew(Http2Stream& stream);
  // Forgets the stream: the caller is done with it. Content that it holds counts as consumed.
  void close(Http2Stream& stream);
  size_t streams() const { return streams_; }
  uint32_t peerStreamsMax() const { return peer_streams_max_; }
  bool peerConnectProtocol() const { return peer_connect_protocol_; }
  bool settingsReceived() const { return settings_received_; }

  // ---- Output ----
  // A field block; `end`: nothing follows it on this stream.
  void sendBlock(Http2Stream& stream, std::span<const HpackField> fields, bool end);
  // How much content the windows leave.
  size_t sendable(const Http2Stream& stream) const;
  bool windowOpen() const { return send_window_ > 0; }
  uint32_t frameBytesMax() const { return peer_frame_bytes_; }
  // Accounts for a DATA frame, whose head is written to `out` (kHttp2FrameHeadBytes); the caller
  // sends its `bytes` at once behind it.
  void beginData(Http2Stream& stream, size_t bytes, bool end, char* out);
  // Ends our direction by an empty DATA frame.
  void sendEnd(Http2Stream& stream);
  // Ends both directions; close() must follow.
  void sendReset(Http2Stream& stream, Http2Error error);
  // Refuses a peer's new stream after its block was read.
  void refuse(uint32_t id, Http2Error error);
  // Content was used up, so that the peer may send as much again.
  void consume(Http2Stream& stream, size_t bytes);
  // A stream's exchange went well.
  void noteUseful() { refill(kUsefulWorth); }
  // The peer sent what could only be thrown away.
  void noteUseless() { spend(); }

  // First step of a graceful end (§6.8): Drained follows when the peer has seen it.
  void announceShutdown();
  // Second step: streams that the peer opens from now on are not served.
  void sendGoAway(Http2Error error, std::string_view reason);
  bool goAwaySent() const { return goaway_sent_; }
  // A fault of the peer in the session's eyes.
  void fail(Http2Error error, std::string_view reason);

 private:
  using Kind = Http2Event::Kind;
  static constexpr size_t kBuckets = 64;
  static constexpr size_t kClosedKept = 64;
  static constexpr int kUsefulWorth = 4;
  static constexpr std::string_view kShutdownPing = "shutdown";

  struct ClosedStream {
    uint32_t id = 0;
    bool reset_by_us = false;  // what still comes for it is ignored (§5.1)
  };

  Http2Event readFrame(std::string_view input);
  Http2Event readPreface(std::string_view input);
  Http2Event dispatch(const Http2FrameHead& head, std::string_view payload);
  Http2Event beginContent(const Http2FrameHead& head, std::string_view input);
  Http2Event moreContent(std::string_view input);
  Http2Event onHeaders(const Http2FrameHead& head, std::string_view payload);
  Http2Event onContinuation(const Http2FrameHead& head, std::string_view payload);
  Http2Event onBlock();
  Http2Event onNewStream(uint32_t id, bool end);
  Http2Event onPriority(const Http2FrameHead& head, std::string_view payload);
  Http2Event onRstStream(const Http2FrameHead& head, std::string_view payload);
  Http2Event onSettings(const Http2FrameHead& head, std::string_view payload);
  Http2Event onPing(const Http2FrameHead& head, std::string_view payload);
  Http2Event onGoAway(const Http2FrameHead& head, std::string_view payload);
  Http2Event onWindowUpdate(const Http2FrameHead& head, std::string_view payload);

  bool applySetting(uint16_t name, uint32_t value);
  bool changeInitialWindow(uint32_t window);
  Http2Event connectionError(Http2Error error, std::string_view reason);
  Http2Event streamError(uint32_t id, Http2Error error);
  Http2Event contentOfClosed(const Http2FrameHead& head);
  void discardBlock();
  void dropContent(Http2Stream* stream, size_t bytes);
  bool spend(int cost = 1);
  bool isIdle(uint32_t id) const;
  bool ownParity(uint32_t id) const { return (id & 1) == (options_.server ? 0U : 1U); }
  void giveBack(size_t bytes);
  Http2Stream* find(uint32_t id);
  const ClosedStream* findClosed(uint32_t id) const;
  void noteClosed(uint32_t id, bool reset_by_us);
  void insert(Http2Stream& stream, uint32_t id);
  Http2Stream*& bucketOf(uint32_t id) { return buckets_[id / 2 % kBuckets]; }

  const Http2Options options_;
  BufferPool& pool_;
  Buffer& out_;
  HpackDecoder decoder_;
  HpackEncoder encoder_;
  Buffer block_;                 // a block in several frames
  std::string_view block_rest_;  // of the block that nextField() reads
  std::string_view failure_;

  std::array<Http2Stream*, kBuckets> buckets_{};
  std::array<ClosedStream, kClosedKept> closed_{};
  size_t closed_next_ = 0;
  size_t streams_ = 0;
  uint32_t last_peer_stream_ = 0;
  uint32_t next_stream_ = 1;                    // of ours
  uint32_t goaway_stream_ = kHttp2StreamIdMax;  // the last that we serve

  int64_t send_window_ = kHttp2DefaultWindow;
  int64_t receive_window_ = kHttp2DefaultWindow;
  uint32_t consumed_ = 0;  // and not yet announced
  uint32_t peer_initial_window_ = kHttp2DefaultWindow;
  uint32_t peer_frame_bytes_ = kHttp2FrameBytesMax;
  uint32_t peer_streams_max_ = 100;  // until the peer says otherwise (§6.5.2 recommends no less)

  uint32_t block_stream_ = 0;  // whose block is being gathered; 0: none
  int continuations_ = 0;
  bool block_ends_stream_ = false;
  bool block_self_dependent_ = false;

  uint32_t content_stream_ = 0;  // whose DATA frame is being read
  uint32_t content_left_ = 0;
  uint32_t padding_left_ = 0;
  bool content_ends_stream_ = false;
  bool in_content_ = false;

  int budget_ = kBudget;
  int window_updates_free_ = 100;  // that our own DATA frames have earned the peer
  uint32_t preface_left_;
  bool settings_received_ = false;
  bool peer_connect_protocol_ = false;
  bool shutdown_announced_ = false;
  bool goaway_sent_ = false;
  bool failed_ = false;
};

}  // namespace flamegate::proxy
