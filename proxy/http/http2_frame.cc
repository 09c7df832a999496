#include "proxy/http/http2_frame.h"

namespace flamegate::proxy {
namespace {

constexpr uint32_t kReservedBit = 0x80000000;

uint32_t byteAt(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

void put(uint32_t value, size_t bytes, char* out) {
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
}

}  // namespace

uint16_t readUint16(std::string_view bytes) {
  return static_cast<uint16_t>(byteAt(bytes, 0) << 8 | byteAt(bytes, 1));
}

uint32_t readUint32(std::string_view bytes) {
  return byteAt(bytes, 0) << 24 | byteAt(bytes, 1) << 16 | byteAt(bytes, 2) << 8 | byteAt(bytes, 3);
}

Http2FrameHead readFrameHead(std::string_view bytes) {
  return {readUint32(bytes) >> 8, static_cast<Http2FrameType>(byteAt(bytes, 3)),
          static_cast<uint8_t>(byteAt(bytes, 4)), readUint32(bytes.substr(5)) & ~kReservedBit};
}

void writeFrameHead(const Http2FrameHead& head, char* out) {
  put(head.length, 3, out);
  out[3] = static_cast<char>(head.type);
  out[4] = static_cast<char>(head.flags);
  put(head.stream, 4, out + 5);
}

void appendFrameHead(const Http2FrameHead& head, Buffer& out) {
  writeFrameHead(head, out.prepare(kHttp2FrameHeadBytes).data());
  out.commit(kHttp2FrameHeadBytes);
}

void appendUint16(uint16_t value, Buffer& out) {
  put(value, 2, out.prepare(2).data());
  out.commit(2);
}

void appendUint32(uint32_t value, Buffer& out) {
  put(value, 4, out.prepare(4).data());
  out.commit(4);
}

void appendSetting(Http2Setting setting, uint32_t value, Buffer& out) {
  appendUint16(static_cast<uint16_t>(setting), out);
  appendUint32(value, out);
}

void appendRstStream(uint32_t stream, Http2Error error, Buffer& out) {
  appendFrameHead({4, Http2FrameType::RstStream, 0, stream}, out);
  appendUint32(static_cast<uint32_t>(error), out);
}

void appendWindowUpdate(uint32_t stream, uint32_t increment, Buffer& out) {
  appendFrameHead({4, Http2FrameType::WindowUpdate, 0, stream}, out);
  appendUint32(increment, out);
}

void appendPing(std::string_view opaque, bool ack, Buffer& out) {
  const uint8_t flags = ack ? http2_flag::kAck : 0;
  appendFrameHead({8, Http2FrameType::Ping, flags, 0}, out);
  out.append(opaque.substr(0, 8));
}

void appendGoAway(uint32_t last_stream, Http2Error error, std::string_view reason, Buffer& out) {
  const auto length = static_cast<uint32_t>(8 + reason.size());
  appendFrameHead({length, Http2FrameType::GoAway, 0, 0}, out);
  appendUint32(last_stream, out);
  appendUint32(static_cast<uint32_t>(error), out);
  out.append(reason);
}

}  // namespace flamegate::proxy
