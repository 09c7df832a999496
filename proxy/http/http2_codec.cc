#include "proxy/http/http2_codec.h"

#include <algorithm>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

constexpr int kWindowUpdatesPerData = 10;
constexpr int kWindowUpdatesFreeMax = 1000;
constexpr size_t kHead = kHttp2FrameHeadBytes;

}  // namespace

Http2Codec::Http2Codec(const Http2Options& options, HpackMemory& memory, BufferPool& pool,
                       Buffer& out)
    : options_(options),
      pool_(pool),
      out_(out),
      decoder_(memory),
      encoder_(memory),
      block_(pool),
      preface_left_(options.server ? static_cast<uint32_t>(kHttp2Preface.size()) : 0) {}

void Http2Codec::start() {
  if (!options_.server) out_.append(kHttp2Preface);
  Buffer settings(pool_);
  if (options_.server) {
    appendSetting(Http2Setting::MaxConcurrentStreams, options_.streams_max, settings);
    if (options_.connect_protocol) {
      appendSetting(Http2Setting::EnableConnectProtocol, 1, settings);
    }
  } else {
    appendSetting(Http2Setting::EnablePush, 0, settings);
  }
  appendSetting(Http2Setting::InitialWindowSize, options_.stream_window, settings);
  appendSetting(Http2Setting::MaxHeaderListSize, options_.block_bytes_max, settings);
  appendFrameHead({static_cast<uint32_t>(settings.size()), Http2FrameType::Settings, 0, 0}, out_);
  out_.append(settings.view());
  if (options_.connection_window > kHttp2DefaultWindow) {
    appendWindowUpdate(0, options_.connection_window - kHttp2DefaultWindow, out_);
    receive_window_ = options_.connection_window;
  }
}

// ---- Budget and faults --------------------------------------------------------------------------

void Http2Codec::refill(int amount) { budget_ = std::min(budget_ + amount, kBudget); }

// False once the budget is spent: the connection has failed then.
bool Http2Codec::spend(int cost) {
  budget_ -= cost;
  if (budget_ >= 0) return true;
  fail(Http2Error::EnhanceYourCalm, "too many frames of no use");
  return false;
}

void Http2Codec::fail(Http2Error error, std::string_view reason) {
  if (failed_) return;
  failed_ = true;
  failure_ = reason;
  appendGoAway(std::min(last_peer_stream_, goaway_stream_), error, reason, out_);
  goaway_sent_ = true;
}

Http2Event Http2Codec::connectionError(Http2Error error, std::string_view reason) {
  fail(error, reason);
  return {.kind = Kind::Failed, .error = error};
}

// §5.4.2. A stream that is not open is reset all the same, as its frame was in error.
Http2Event Http2Codec::streamError(uint32_t id, Http2Error error) {
  Http2Stream* stream = find(id);
  if (stream != nullptr) {
    sendReset(*stream, error);
  } else {
    refuse(id, error);
  }
  if (!spend()) return {.kind = Kind::Failed, .error = Http2Error::EnhanceYourCalm};
  if (stream == nullptr) return {};
  return {.kind = Kind::Reset, .error = error, .id = id, .stream = stream};
}

// ---- Streams ------------------------------------------------------------------------------------

Http2Stream* Http2Codec::find(uint32_t id) {
  Http2Stream* stream = bucketOf(id);
  while (stream != nullptr && stream->id != id) stream = stream->next_in_bucket;
  return stream;
}

// A stream that was never opened (§5.1).
bool Http2Codec::isIdle(uint32_t id) const {
  return ownParity(id) ? id >= next_stream_ || options_.server : id > last_peer_stream_;
}

void Http2Codec::insert(Http2Stream& stream, uint32_t id) {
  stream.id = id;
  stream.send_window = peer_initial_window_;
  stream.receive_window = options_.stream_window;
  stream.held = stream.consumed = 0;
  stream.content_expected = stream.content_received = 0;
  stream.has_length = stream.head_received = stream.local_ended = stream.remote_ended = false;
  stream.reset = false;
  stream.next_in_bucket = bucketOf(id);
  bucketOf(id) = &stream;
  ++streams_;
}

void Http2Codec::open(Http2Stream& stream, uint32_t id, bool end) {
  insert(stream, id);
  stream.head_received = true;
  stream.remote_ended = end;
}

bool Http2Codec::openNew(Http2Stream& stream) {
  if (next_stream_ > kHttp2StreamIdMax) return false;
  insert(stream, next_stream_);
  next_stream_ += 2;
  return true;
}

void Http2Codec::close(Http2Stream& stream) {
  Http2Stream** at = &bucketOf(stream.id);
  while (*at != &stream) at = &(*at)->next_in_bucket;
  *at = stream.next_in_bucket;
  --streams_;
  noteClosed(stream.id, stream.reset);
  giveBack(stream.held);
  stream.held = 0;
  stream.id = 0;
}

void Http2Codec::noteClosed(uint32_t id, bool reset_by_us) {
  closed_[closed_next_] = {id, reset_by_us};
  closed_next_ = (closed_next_ + 1) % kClosedKept;
}

const Http2Codec::ClosedStream* Http2Codec::findClosed(uint32_t id) const {
  for (const ClosedStream& stream : closed_) {
    if (stream.id == id) return &stream;
  }
  return nullptr;
}

// ---- Output -------------------------------------------------------------------------------------

// A block that is larger than a frame goes on in CONTINUATION frames (§6.10).
void Http2Codec::sendBlock(Http2Stream& stream, std::span<const HpackField> fields, bool end) {
  const size_t begin = out_.size();
  appendFrameHead({}, out_);
  encoder_.encode(fields, out_);
  const size_t bytes = out_.size() - begin - kHead;
  uint8_t flags = end ? http2_flag::kEndStream : 0;
  if (end) stream.local_ended = true;
  char* const at = out_.data() + begin;
  if (bytes <= peer_frame_bytes_) {
    flags |= http2_flag::kEndHeaders;
    writeFrameHead({static_cast<uint32_t>(bytes), Http2FrameType::Headers, flags, stream.id}, at);
    return;
  }
  writeFrameHead({peer_frame_bytes_, Http2FrameType::Headers, flags, stream.id}, at);
  Buffer rest(pool_);
  rest.append(out_.view().substr(begin + kHead + peer_frame_bytes_));
  out_.truncate(begin + kHead + peer_frame_bytes_);
  while (!rest.empty()) {
    const std::string_view piece = rest.view().substr(0, peer_frame_bytes_);
    const uint8_t last = piece.size() == rest.size() ? http2_flag::kEndHeaders : 0;
    appendFrameHead(
        {static_cast<uint32_t>(piece.size()), Http2FrameType::Continuation, last, stream.id}, out_);
    out_.append(piece);
    rest.consume(piece.size());
  }
}

size_t Http2Codec::sendable(const Http2Stream& stream) const {
  return static_cast<size_t>(std::max<int64_t>(0, std::min(send_window_, stream.send_window)));
}

void Http2Codec::beginData(Http2Stream& stream, size_t bytes, bool end, char* out) {
  DCHECK(bytes <= peer_frame_bytes_ && bytes <= sendable(stream));
  const uint8_t flags = end ? http2_flag::kEndStream : 0;
  writeFrameHead({static_cast<uint32_t>(bytes), Http2FrameType::Data, flags, stream.id}, out);
  send_window_ -= static_cast<int64_t>(bytes);
  stream.send_window -= static_cast<int64_t>(bytes);
  stream.local_ended = stream.local_ended || end;
  window_updates_free_ =
      std::min(window_updates_free_ + kWindowUpdatesPerData, kWindowUpdatesFreeMax);
}

void Http2Codec::sendEnd(Http2Stream& stream) {
  if (stream.local_ended) return;
  beginData(stream, 0, true, out_.prepare(kHead).data());
  out_.commit(kHead);
}

void Http2Codec::sendReset(Http2Stream& stream, Http2Error error) {
  if (stream.reset) return;
  stream.local_ended = stream.remote_ended = stream.reset = true;
  appendRstStream(stream.id, error, out_);
}

void Http2Codec::refuse(uint32_t id, Http2Error error) {
  noteClosed(id, true);
  appendRstStream(id, error, out_);
}

void Http2Codec::giveBack(size_t bytes) {
  consumed_ += static_cast<uint32_t>(bytes);
  if (consumed_ < options_.connection_window / 2 || failed_) return;
  appendWindowUpdate(0, consumed_, out_);
  receive_window_ += consumed_;
  consumed_ = 0;
}

void Http2Codec::consume(Http2Stream& stream, size_t bytes) {
  DCHECK(bytes <= stream.held);
  stream.held -= static_cast<uint32_t>(bytes);
  giveBack(bytes);
  stream.consumed += static_cast<uint32_t>(bytes);
  if (stream.remote_ended || stream.consumed < options_.stream_window / 2) return;
  appendWindowUpdate(stream.id, stream.consumed, out_);
  stream.receive_window += stream.consumed;
  stream.consumed = 0;
}

void Http2Codec::announceShutdown() {
  if (shutdown_announced_ || goaway_sent_) return;
  shutdown_announced_ = true;
  appendGoAway(kHttp2StreamIdMax, Http2Error::NoError, {}, out_);
  appendPing(kShutdownPing, false, out_);
}

void Http2Codec::sendGoAway(Http2Error error, std::string_view reason) {
  if (goaway_sent_) return;
  goaway_sent_ = true;
  goaway_stream_ = last_peer_stream_;
  appendGoAway(goaway_stream_, error, reason, out_);
}

}  // namespace flamegate::proxy
