#include "proxy/session/connect_failure.h"

#include <cstring>

namespace flamegate::proxy {

Error connectFailure(const Connection& connection, int error) {
  const Transport* transport = connection.transport();
  const TransportFault fault = transport == nullptr ? TransportFault::None : transport->fault();
  const auto failure = [](ErrorCode code, std::string detail) {
    return Error{code, ErrorSource::Upstream, Retry::Yes, std::move(detail)};
  };
  if (fault == TransportFault::Untrusted) {
    return failure(ErrorCode::Untrusted, transport->failure());
  }
  const bool lost = fault == TransportFault::Lost && error == 0;
  if (fault == TransportFault::Protocol || lost) {
    return failure(ErrorCode::Handshake, transport->failure());
  }
  return failure(ErrorCode::Refused, std::string("connect: ") + std::strerror(error));
}

}  // namespace flamegate::proxy
