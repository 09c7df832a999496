// Frames of HTTP/2 (RFC 9113 §4, §6) as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proxy/base/buffer.h"

namespace flamegate::proxy {

// What a client sends first (§3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline constexpr size_t kHttp2FrameHeadBytes = 9;
// The largest payload that we take, and that a peer takes unless it says otherwise (§4.2).
inline constexpr uint32_t kHttp2FrameBytesMax = 16384;
inline constexpr int64_t kHttp2WindowMax = 0x7fffffff;  // §6.9.1
inline constexpr uint32_t kHttp2DefaultWindow = 65535;  // §6.9.2
inline constexpr uint32_t kHttp2StreamIdMax = 0x7fffffff;

enum class Http2FrameType : uint8_t {
  Data = 0,
  Headers = 1,
  Priority = 2,
  RstStream = 3,
  Settings = 4,
  PushPromise = 5,
  Ping = 6,
  GoAway = 7,
  WindowUpdate = 8,
  Continuation = 9,
};

namespace http2_flag {
inline constexpr uint8_t kEndStream = 0x1;
inline constexpr uint8_t kAck = 0x1;
inline constexpr uint8_t kEndHeaders = 0x4;
inline constexpr uint8_t kPadded = 0x8;
inline constexpr uint8_t kPriority = 0x20;
}  // namespace http2_flag

// §7.
enum class Http2Error : uint32_t {
  NoError = 0,
  ProtocolError = 1,
  InternalError = 2,
  FlowControlError = 3,
  SettingsTimeout = 4,
  StreamClosed = 5,
  FrameSizeError = 6,
  RefusedStream = 7,
  Cancel = 8,
  CompressionError = 9,
  ConnectError = 10,
  EnhanceYourCalm = 11,
  InadequateSecurity = 12,
  Http11Required = 13,
};

// §6.5.2, and RFC 8441 §3.
enum class Http2Setting : uint16_t {
  HeaderTableSize = 1,
  EnablePush = 2,
  MaxConcurrentStreams = 3,
  InitialWindowSize = 4,
  MaxFrameSize = 5,
  MaxHeaderListSize = 6,
  EnableConnectProtocol = 8,
};

struct Http2FrameHead {
  uint32_t length = 0;
  Http2FrameType type = Http2FrameType::Data;
  uint8_t flags = 0;
  uint32_t stream = 0;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};

// Big-endian numbers at the front of `bytes`, which is long enough.
uint16_t readUint16(std::string_view bytes);
uint32_t readUint32(std::string_view bytes);

// From kHttp2FrameHeadBytes bytes; reserved bits are ignored (§4.1).
Http2FrameHead readFrameHead(std::string_view bytes);
// Writes kHttp2FrameHeadBytes bytes to `out`.
void writeFrameHead(const Http2FrameHead& head, char* out);

void appendFrameHead(const Http2FrameHead& head, Buffer& out);
void appendUint16(uint16_t value, Buffer& out);
void appendUint32(uint32_t value, Buffer& out);

void appendSetting(Http2Setting setting, uint32_t value, Buffer& out);
void appendRstStream(uint32_t stream, Http2Error error, Buffer& out);
void appendWindowUpdate(uint32_t stream, uint32_t increment, Buffer& out);
// `opaque` has eight bytes.
void appendPing(std::string_view opaque, bool ack, Buffer& out);
// `reason` is text for people.
void appendGoAway(uint32_t last_stream, Http2Error error, std::string_view reason, Buffer& out);

}  // namespace flamegate::proxy
