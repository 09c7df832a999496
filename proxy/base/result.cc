#include "proxy/base/result.h"

namespace flamegate::proxy {

std::string_view errorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::Malformed: return "malformed";
    case ErrorCode::TooLarge: return "too-large";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::Refused: return "refused";
    case ErrorCode::NotFound: return "not-found";
    case ErrorCode::Conflict: return "conflict";
    case ErrorCode::Closed: return "closed";
    case ErrorCode::Reset: return "reset";
    case ErrorCode::Timeout: return "timeout";
    case ErrorCode::Unavailable: return "unavailable";
    case ErrorCode::Full: return "full";
    case ErrorCode::Io: return "io";
    case ErrorCode::Untrusted: return "untrusted";
    case ErrorCode::Handshake: return "handshake";
  }
  return "unknown";
}

}  // namespace flamegate::proxy
