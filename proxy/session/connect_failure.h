// Why a new connection to an application does not stand.
#pragma once

#include "proxy/base/result.h"
#include "proxy/net/connection.h"

namespace flamegate::proxy {

// Nothing was sent, so that another connection may be tried: Untrusted (its certificate was not
// accepted), Handshake (no TLS could be agreed on), else Refused. `error` is the errno of the last
// call, or 0.
Error connectFailure(const Connection& connection, int error);

}  // namespace flamegate::proxy
