// What a service manager such as systemd hands to a service and wants to be told by it: the protocols
// of sd_listen_fds(3) and sd_notify(3), spoken without its library.
#pragma once

#include <string_view>
#include <vector>

#include "proxy/base/fd.h"

namespace flamegate::proxy {

// The sockets that the manager opened for this process: listening stream sockets, now non-blocking and
// closed in children; others are closed with a warning. Empty when there are none, when they are meant
// for another process, and on a second call. At most 256.
// Thread: the main one, before others read the environment.
std::vector<UniqueFd> takeInheritedSockets();

// Sends a state such as "READY=1". Without a manager, or when it does not listen, nothing happens; it
// never blocks. Thread: any.
void notifyServiceManager(std::string_view state);

}  // namespace flamegate::proxy
