#include "proxy/session/first_bytes.h"

#include "proxy/http/http2_frame.h"

namespace flamegate::proxy {

Protocol protocolOf(Connection& connection, std::string_view first_bytes, bool http2_served) {
  if (!http2_served) return Protocol::Http1;
  if (connection.secure()) {
    const std::string_view agreed = connection.transport()->protocol();
    if (!agreed.empty()) return agreed == "h2" ? Protocol::Http2 : Protocol::Http1;
  }
  first_bytes = first_bytes.substr(0, kHttp2Preface.size());
  if (!kHttp2Preface.starts_with(first_bytes)) return Protocol::Http1;
  return first_bytes.size() < kHttp2Preface.size() ? Protocol::Unknown : Protocol::Http2;
}

}  // namespace flamegate::proxy
