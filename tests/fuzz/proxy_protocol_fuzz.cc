// PROXY headers: parsing a beginning never contradicts parsing the whole, and no header is longer
// than what there is.
#include <cstdlib>

#include "proxy/net/proxy_protocol.h"

using flamegate::proxy::parseProxyHeader;
using State = flamegate::proxy::ProxyHeaderParse::State;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = parseProxyHeader(bytes);
  if (whole.state == State::Complete && whole.header.bytes > size) std::abort();
  for (size_t i = 0; i < size; i += 1 + i / 64) {
    const auto part = parseProxyHeader(bytes.substr(0, i));
    if (part.state == State::Incomplete) continue;
    if (part.state != whole.state || part.header.bytes != whole.header.bytes) std::abort();
    break;
  }
  return 0;
}
