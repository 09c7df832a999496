// The receiving half of Http2Codec.
#include <algorithm>

#include "proxy/base/check.h"
#include "proxy/http/http2_codec.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kSettingBytes = 6;
constexpr size_t kSettingsMax = 32;  // in one frame
constexpr size_t kPriorityBytes = 5;

}  // namespace

Http2Event Http2Codec::next(std::string_view input) {
  size_t used = 0;
  for (;;) {
    if (failed_) return {.kind = Kind::Failed, .used = used};
    DCHECK(block_rest_.empty());
    Http2Event event = readFrame(input.substr(used));
    used += event.used;
    event.used = used;
    if (failed_) event.kind = Kind::Failed;
    if (event.kind != Kind::Handled) return event;
  }
}

// §3.4.
Http2Event Http2Codec::readPreface(std::string_view input) {
  const std::string_view awaited = kHttp2Preface.substr(kHttp2Preface.size() - preface_left_);
  const std::string_view came = input.substr(0, awaited.size());
  if (!awaited.starts_with(came)) {
    return connectionError(Http2Error::ProtocolError, "no connection preface");
  }
  preface_left_ -= static_cast<uint32_t>(came.size());
  return {.kind = preface_left_ > 0 ? Kind::NeedInput : Kind::Handled, .used = came.size()};
}

// One frame, or a part of a DATA frame.
Http2Event Http2Codec::readFrame(std::string_view input) {
  if (preface_left_ > 0) return readPreface(input);
  if (in_content_) return moreContent(input);
  if (input.size() < kHttp2FrameHeadBytes) return {.kind = Kind::NeedInput};
  const Http2FrameHead head = readFrameHead(input);
  if (head.length > kHttp2FrameBytesMax) {
    return connectionError(Http2Error::FrameSizeError, "a frame is too large");  // §4.2
  }
  if (!settings_received_ && head.type != Http2FrameType::Settings) {
    return connectionError(Http2Error::ProtocolError, "SETTINGS must come first");  // §3.4
  }
  if (block_stream_ != 0 &&
      (head.type != Http2FrameType::Continuation || head.stream != block_stream_)) {
    return connectionError(Http2Error::ProtocolError, "a field block is interrupted");  // §4.3
  }
  if (head.type == Http2FrameType::Data) return beginContent(head, input);
  const size_t bytes = kHttp2FrameHeadBytes + head.length;
  if (input.size() < bytes) return {.kind = Kind::NeedInput};
  Http2Event event = dispatch(head, input.substr(kHttp2FrameHeadBytes, head.length));
  event.used = bytes;
  return event;
}

Http2Event Http2Codec::dispatch(const Http2FrameHead& head, std::string_view payload) {
  switch (head.type) {
    case Http2FrameType::Headers:
      return onHeaders(head, payload);
    case Http2FrameType::Priority:
      return onPriority(head, payload);
    case Http2FrameType::RstStream:
      return onRstStream(head, payload);
    case Http2FrameType::Settings:
      return onSettings(head, payload);
    case Http2FrameType::PushPromise:
      // Clients may not push, and as a client we have forbidden it (§8.4).
      return connectionError(Http2Error::ProtocolError, "PUSH_PROMISE");
    case Http2FrameType::Ping:
      return onPing(head, payload);
    case Http2FrameType::GoAway:
      return onGoAway(head, payload);
    case Http2FrameType::WindowUpdate:
      return onWindowUpdate(head, payload);
    case Http2FrameType::Continuation:
      return onContinuation(head, payload);
    default:
      break;
  }
  spend();  // §4.1: unknown types are ignored
  return {};
}

// ---- Content (§6.1) -----------------------------------------------------------------------------

Http2Event Http2Codec::beginContent(const Http2FrameHead& head, std::string_view input) {
  const bool padded = head.has(http2_flag::kPadded);
  const size_t fixed = kHttp2FrameHeadBytes + (padded ? 1 : 0);
  if (head.stream == 0) {
    return connectionError(Http2Error::ProtocolError, "DATA on stream 0");
  }
  if (padded && head.length == 0) {
    return connectionError(Http2Error::FrameSizeError, "DATA without its pad length");
  }
  if (input.size() < fixed) return {.kind = Kind::NeedInput};
  const uint32_t padding = padded ? static_cast<unsigned char>(input[kHttp2FrameHeadBytes]) : 0;
  const uint32_t overhead = padded ? 1 + padding : 0;
  if (overhead > head.length) {
    return connectionError(Http2Error::ProtocolError, "padding is larger than its frame");
  }
  if (static_cast<int64_t>(head.length) > receive_window_) {
    return connectionError(Http2Error::FlowControlError, "DATA beyond the window");  // §6.9.1
  }
  receive_window_ -= head.length;
  Http2Stream* stream = find(head.stream);
  Http2Event event;
  if (stream == nullptr) {
    event = contentOfClosed(head);
  } else if (stream->remote_ended) {
    event = streamError(head.stream, Http2Error::StreamClosed);  // §5.1
  } else if (!stream->head_received) {
    event = streamError(head.stream, Http2Error::ProtocolError);  // §8.1
  } else if (static_cast<int64_t>(head.length) > stream->receive_window) {
    event = streamError(head.stream, Http2Error::FlowControlError);
  } else {
    stream->receive_window -= head.length;
  }
  in_content_ = true;
  content_stream_ = head.stream;
  padding_left_ = padding;
  content_left_ = head.length - overhead;
  content_ends_stream_ = head.has(http2_flag::kEndStream);
  if (padded) dropContent(stream, 1);
  if (content_left_ == 0 && !content_ends_stream_) spend();
  event.used = fixed;
  return event;
}

Http2Event Http2Codec::contentOfClosed(const Http2FrameHead& head) {
  if (isIdle(head.stream)) {
    return connectionError(Http2Error::ProtocolError, "DATA on an idle stream");
  }
  const ClosedStream* closed = findClosed(head.stream);
  if (closed != nullptr && closed->reset_by_us) return {};
  return streamError(head.stream, Http2Error::StreamClosed);
}

// Padding and the like count for the windows, but nobody consumes them.
void Http2Codec::dropContent(Http2Stream* stream, size_t bytes) {
  if (bytes == 0) return;
  if (stream == nullptr) {
    giveBack(bytes);
    return;
  }
  stream->held += static_cast<uint32_t>(bytes);
  consume(*stream, bytes);
}

// Within a DATA frame: content, then padding.
Http2Event Http2Codec::moreContent(std::string_view input) {
  if (input.empty() && (content_left_ > 0 || padding_left_ > 0)) return {.kind = Kind::NeedInput};
  Http2Stream* stream = find(content_stream_);
  const size_t bytes = std::min<size_t>(input.size(), content_left_);
  content_left_ -= static_cast<uint32_t>(bytes);
  size_t padding = 0;
  if (content_left_ == 0) padding = std::min<size_t>(input.size() - bytes, padding_left_);
  padding_left_ -= static_cast<uint32_t>(padding);
  in_content_ = content_left_ > 0 || padding_left_ > 0;
  const size_t used = bytes + padding;
  dropContent(stream, padding);
  if (stream == nullptr) {
    giveBack(bytes);
    return {.used = used};
  }
  stream->held += static_cast<uint32_t>(bytes);
  const bool end = !in_content_ && content_ends_stream_;
  stream->content_received += bytes;
  const bool too_long = stream->has_length && stream->content_received > stream->content_expected;
  const bool too_short =
      end && stream->has_length && stream->content_received < stream->content_expected;
  if (too_long || too_short) {  // §8.1.1
    Http2Event event = streamError(stream->id, Http2Error::ProtocolError);
    event.used = used;
    return event;
  }
  stream->remote_ended = end;
  if (bytes == 0 && !end) return {.used = used};
  return {.kind = Kind::Content,
          .end = end,
          .id = stream->id,
          .stream = stream,
          .content = input.substr(0, bytes),
          .used = used};
}

// ---- Field blocks (§6.2, §6.10) -----------------------------------------------------------------

Http2Event Http2Codec::onHeaders(const Http2FrameHead& head, std::string_view payload) {
  if (head.stream == 0) return connectionError(Http2Error::ProtocolError, "HEADERS on stream 0");
  size_t padding = 0;
  if (head.has(http2_flag::kPadded)) {
    if (payload.empty()) return connectionError(Http2Error::FrameSizeError, "HEADERS is too short");
    padding = static_cast<unsigned char>(payload.front());
    payload.remove_prefix(1);
  }
  block_self_dependent_ = false;
  if (head.has(http2_flag::kPriority)) {
    if (payload.size() < kPriorityBytes) {
      return connectionError(Http2Error::FrameSizeError, "HEADERS is too short");
    }
    block_self_dependent_ = (readUint32(payload) & kHttp2StreamIdMax) == head.stream;
    payload.remove_prefix(kPriorityBytes);
  }
  if (padding > payload.size()) {
    return connectionError(Http2Error::ProtocolError, "padding is larger than its frame");
  }
  payload.remove_suffix(padding);
  block_stream_ = head.stream;
  block_ends_stream_ = head.has(http2_flag::kEndStream);
  continuations_ = 0;
  if (head.has(http2_flag::kEndHeaders)) {
    block_rest_ = payload;
    return onBlock();
  }
  block_.append(payload);
  return {};
}

Http2Event Http2Codec::onContinuation(const Http2FrameHead& head, std::string_view payload) {
  if (block_stream_ == 0) {
    return connectionError(Http2Error::ProtocolError, "CONTINUATION without HEADERS");
  }
  // A block that is not kept could not be decoded, and with it none that follows (§10.5.1).
  if (++continuations_ > kContinuationsMax ||
      block_.size() + payload.size() > options_.block_bytes_max) {
    return connectionError(Http2Error::EnhanceYourCalm, "a field block is too large");
  }
  block_.append(payload);
  if (!head.has(http2_flag::kEndHeaders)) return {};
  block_rest_ = block_.view();
  return onBlock();
}

// A whole block is in block_rest_: says whose it is, or drops it.
Http2Event Http2Codec::onBlock() {
  const uint32_t id = block_stream_;
  const bool end = block_ends_stream_;
  block_stream_ = 0;
  Http2Stream* stream = find(id);
  if (stream == nullptr) {
    if (isIdle(id) && !ownParity(id) && options_.server) return onNewStream(id, end);
    const ClosedStream* closed = findClosed(id);
    discardBlock();
    if (failed_) return {.kind = Kind::Failed};
    if (closed == nullptr) {
      return connectionError(Http2Error::ProtocolError, "HEADERS on a wrong stream");  // §5.1.1
    }
    if (closed->reset_by_us) return {};
    return connectionError(Http2Error::StreamClosed, "HEADERS on a closed stream");
  }
  Http2Error fault = Http2Error::NoError;
  if (stream->remote_ended) fault = Http2Error::StreamClosed;            // §5.1
  if (stream->head_received && !end) fault = Http2Error::ProtocolError;  // §8.1
  if (block_self_dependent_) fault = Http2Error::ProtocolError;          // §5.3.1 of RFC 7540
  const bool short_content = stream->has_length && end && stream->head_received &&
                             stream->content_received != stream->content_expected;
  if (short_content) fault = Http2Error::ProtocolError;  // §8.1.1
  if (fault != Http2Error::NoError) {
    discardBlock();
    return failed_ ? Http2Event{.kind = Kind::Failed} : streamError(id, fault);
  }
  stream->remote_ended = end;
  return {.kind = Kind::Head, .end = end, .id = id, .stream = stream};
}

// Even what is not served is decoded (§4.3), and counts as opened (§5.1.1).
Http2Event Http2Codec::onNewStream(uint32_t id, bool end) {
  const bool full = streams_ >= options_.streams_max;
  last_peer_stream_ = id;
  if (!goaway_sent_ && !full && !block_self_dependent_) {
    return {.kind = Kind::Head, .end = end, .id = id};
  }
  discardBlock();
  if (failed_) return {.kind = Kind::Failed};
  if (goaway_sent_) {  // §6.8: ignored
    noteClosed(id, true);
    return {};
  }
  return streamError(id, full ? Http2Error::RefusedStream : Http2Error::ProtocolError);
}

bool Http2Codec::nextField(HpackField& field) {
  if (failed_) return false;
  const HpackDecoder::Step step = decoder_.next(block_rest_, field);
  if (step == HpackDecoder::Step::Field) return true;
  if (step == HpackDecoder::Step::Bad)
    fail(Http2Error::CompressionError, "a field block is broken");
  block_rest_ = {};
  block_.release();
  return false;
}

// Decoded all the same, since it may change the table (§4.3).
void Http2Codec::discardBlock() {
  HpackField field;
  while (nextField(field)) {
  }
}

// ---- The other frames ---------------------------------------------------------------------------

// §6.3. What it says is not used.
Http2Event Http2Codec::onPriority(const Http2FrameHead& head, std::string_view payload) {
  if (head.stream == 0) return connectionError(Http2Error::ProtocolError, "PRIORITY on stream 0");
  if (payload.size() != kPriorityBytes) {
    if (find(head.stream) != nullptr) return streamError(head.stream, Http2Error::FrameSizeError);
    return connectionError(Http2Error::FrameSizeError, "PRIORITY has a wrong size");
  }
  if ((readUint32(payload) & kHttp2StreamIdMax) == head.stream && find(head.stream) != nullptr) {
    return streamError(head.stream, Http2Error::ProtocolError);
  }
  spend();
  return {};
}

// §6.4.
Http2Event Http2Codec::onRstStream(const Http2FrameHead& head, std::string_view payload) {
  if (payload.size() != 4) {
    return connectionError(Http2Error::FrameSizeError, "RST_STREAM has a wrong size");
  }
  if (head.stream == 0 || isIdle(head.stream)) {
    return connectionError(Http2Error::ProtocolError, "RST_STREAM on an idle stream");
  }
  if (!spend()) return {.kind = Kind::Failed};
  Http2Stream* stream = find(head.stream);
  if (stream == nullptr) return {};
  stream->remote_ended = stream->local_ended = true;
  return {.kind = Kind::Reset,
          .error = static_cast<Http2Error>(readUint32(payload)),
          .id = head.stream,
          .stream = stream};
}

// §6.5.
Http2Event Http2Codec::onSettings(const Http2FrameHead& head, std::string_view payload) {
  if (head.stream != 0) {
    return connectionError(Http2Error::ProtocolError, "SETTINGS on a stream");
  }
  const bool ack = head.has(http2_flag::kAck);
  if ((ack && !payload.empty()) || payload.size() % kSettingBytes != 0) {
    return connectionError(Http2Error::FrameSizeError, "SETTINGS has a wrong size");
  }
  if (ack) {
    if (!settings_received_) {
      return connectionError(Http2Error::ProtocolError, "SETTINGS must come first");
    }
    spend();
    return {};
  }
  if (payload.size() / kSettingBytes > kSettingsMax) {
    return connectionError(Http2Error::EnhanceYourCalm, "too many settings");
  }
  if (settings_received_ && !spend()) return {.kind = Kind::Failed};
  settings_received_ = true;
  const uint32_t window = peer_initial_window_;
  for (; !payload.empty(); payload.remove_prefix(kSettingBytes)) {
    if (!applySetting(readUint16(payload), readUint32(payload.substr(2)))) {
      return {.kind = Kind::Failed};
    }
  }
  appendFrameHead({0, Http2FrameType::Settings, http2_flag::kAck, 0}, out_);
  return {.kind = peer_initial_window_ > window ? Kind::Room : Kind::Handled};
}

// False when the value is forbidden: the connection has failed then.
bool Http2Codec::applySetting(uint16_t name, uint32_t value) {
  const auto require = [&](bool holds, Http2Error error = Http2Error::ProtocolError) {
    if (!holds) fail(error, "a setting has a forbidden value");
    return holds;
  };
  switch (static_cast<Http2Setting>(name)) {
    case Http2Setting::HeaderTableSize:
      encoder_.setTableBytesMax(value);
      return true;
    // A server may only say no.
    case Http2Setting::EnablePush:
      return require(value == 0 || (value == 1 && options_.server));
    case Http2Setting::MaxConcurrentStreams:
      peer_streams_max_ = value;
      return true;
    case Http2Setting::InitialWindowSize:
      return require(value <= kHttp2WindowMax, Http2Error::FlowControlError) &&
             changeInitialWindow(value);
    case Http2Setting::MaxFrameSize:
      // Larger frames would bring nothing: what is taken at once is about as large.
      peer_frame_bytes_ = std::min(value, kHttp2FrameBytesMax);
      return require(value >= kHttp2FrameBytesMax && value <= 0xffffff);
    case Http2Setting::EnableConnectProtocol:
      if (!require(value <= 1 && (value == 1 || !peer_connect_protocol_))) return false;
      peer_connect_protocol_ = value == 1;
      return true;
    default:
      return true;
  }
}

// §6.9.2: also of the streams that are open.
bool Http2Codec::changeInitialWindow(uint32_t window) {
  const int64_t change = static_cast<int64_t>(window) - peer_initial_window_;
  peer_initial_window_ = window;
  for (Http2Stream* stream : buckets_) {
    for (; stream != nullptr; stream = stream->next_in_bucket) {
      stream->send_window += change;
      if (stream->send_window > kHttp2WindowMax) {
        fail(Http2Error::FlowControlError, "a window is too large");
        return false;
      }
    }
  }
  return true;
}

// §6.7.
Http2Event Http2Codec::onPing(const Http2FrameHead& head, std::string_view payload) {
  if (head.stream != 0) return connectionError(Http2Error::ProtocolError, "PING on a stream");
  if (payload.size() != 8) {
    return connectionError(Http2Error::FrameSizeError, "PING has a wrong size");
  }
  if (!spend()) return {.kind = Kind::Failed};
  if (!head.has(http2_flag::kAck)) {
    appendPing(payload, true, out_);
    return {};
  }
  return {.kind = shutdown_announced_ && payload == kShutdownPing ? Kind::Drained : Kind::Handled};
}

// §6.8.
Http2Event Http2Codec::onGoAway(const Http2FrameHead& head, std::string_view payload) {
  if (head.stream != 0) return connectionError(Http2Error::ProtocolError, "GOAWAY on a stream");
  if (payload.size() < 8) {
    return connectionError(Http2Error::FrameSizeError, "GOAWAY has a wrong size");
  }
  if (!spend()) return {.kind = Kind::Failed};
  return {.kind = Kind::GoAway,
          .error = static_cast<Http2Error>(readUint32(payload.substr(4))),
          .id = readUint32(payload) & kHttp2StreamIdMax};
}

// §6.9.
Http2Event Http2Codec::onWindowUpdate(const Http2FrameHead& head, std::string_view payload) {
  if (payload.size() != 4) {
    return connectionError(Http2Error::FrameSizeError, "WINDOW_UPDATE has a wrong size");
  }
  const uint32_t increment = readUint32(payload) & kHttp2StreamIdMax;
  if (window_updates_free_ > 0) {
    --window_updates_free_;
  } else if (!spend()) {
    return {.kind = Kind::Failed};
  }
  if (head.stream == 0) {
    if (increment == 0) return connectionError(Http2Error::ProtocolError, "an increment of 0");
    send_window_ += increment;
    if (send_window_ > kHttp2WindowMax) {
      return connectionError(Http2Error::FlowControlError, "a window is too large");
    }
    return {.kind = Kind::Room};
  }
  if (isIdle(head.stream)) {
    return connectionError(Http2Error::ProtocolError, "WINDOW_UPDATE on an idle stream");
  }
  Http2Stream* stream = find(head.stream);
  if (stream == nullptr) return {};
  if (increment == 0) return streamError(head.stream, Http2Error::ProtocolError);
  stream->send_window += increment;
  if (stream->send_window > kHttp2WindowMax) {
    return streamError(head.stream, Http2Error::FlowControlError);
  }
  return {.kind = Kind::Room, .id = head.stream, .stream = stream};
}

}  // namespace flamegate::proxy
