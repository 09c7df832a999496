// Few bytes make a sequence of frames: type, flags, stream and size are one byte each, then the
// payload.
#pragma once

#include <string>
#include <string_view>

#include "proxy/http/http2_frame.h"

namespace flamegate::proxy {

inline std::string framesOf(std::string_view input) {
  std::string bytes;
  while (input.size() >= 4) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(input[i]); };
    const std::string_view payload = input.substr(4, at(3));
    char head[kHttp2FrameHeadBytes];
    writeFrameHead({static_cast<uint32_t>(payload.size()), static_cast<Http2FrameType>(at(0) % 12),
                    static_cast<uint8_t>(at(1)), at(2) % 16U},
                   head);
    bytes.append(head, sizeof head).append(payload);
    input.remove_prefix(4 + payload.size());
  }
  return bytes;
}

}  // namespace flamegate::proxy
