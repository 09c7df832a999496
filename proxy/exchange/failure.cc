#include "proxy/exchange/failure.h"

namespace flamegate::proxy {
namespace {

FailureReply clientFailure(ErrorCode code) {
  switch (code) {
    case ErrorCode::Malformed: return {400, "request-body"};
    case ErrorCode::TooLarge: return {413, "request-too-large"};
    case ErrorCode::Timeout: return {408, "request-timeout"};
    default: return {0, "client-gone"};
  }
}

FailureReply upstreamFailure(ErrorCode code) {
  switch (code) {
    case ErrorCode::Malformed: return {502, "upstream-malformed"};
    case ErrorCode::TooLarge: return {502, "upstream-head-too-large"};
    case ErrorCode::Timeout: return {504, "upstream-timeout"};
    case ErrorCode::Refused: return {502, "upstream-connect"};
    case ErrorCode::NotFound: return {503, "no-endpoint"};
    case ErrorCode::Unavailable: return {503, "no-healthy-endpoint"};
    case ErrorCode::Full: return {503, "overflow"};
    case ErrorCode::Untrusted: return {502, "tls-verify"};
    case ErrorCode::Handshake: return {502, "tls-handshake"};
    default: return {502, "upstream-reset"};
  }
}

}  // namespace

FailureReply failureReply(const Error& error) {
  switch (error.source) {
    case ErrorSource::Client: return clientFailure(error.code);
    case ErrorSource::Upstream: return upstreamFailure(error.code);
    default: break;
  }
  if (error.code == ErrorCode::Full) return {503, "overload"};
  return {500, "internal"};
}

}  // namespace flamegate::proxy
