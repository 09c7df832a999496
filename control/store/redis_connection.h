// A blocking connection to one Redis server, with time-outs, login and reconnecting.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "control/store/resp.h"
#include "proxy/base/fd.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// What a server's error reply means to us. The text itself is not passed on: servers quote
// arguments, a password among them, in it.
proxy::Error redisError(const RespValue& reply);

// Connects when it is first needed, logs in (AUTH, SELECT) before any other command, and connects
// anew after a failure, with growing pauses; until a pause is over, calls fail at once. After a
// refused login a pause lasts a second at least.
// Owner: RedisMedium. Thread: the store's, which it blocks: for resolving the name as long as the
// system's resolver takes, else for the configured time-out and a second for every 4 MiB on the
// wire.
class RedisConnection {
 public:
  explicit RedisConnection(const config::Redis& config);

  enum class Link : unsigned char {
    Any,   // a connection that turns out to have gone is replaced, and the commands sent again
    Same,  // the commands belong to what was sent before on this connection (WATCH)
  };

  // Sends the commands and reads as many replies, error replies among them. Errors: Unavailable,
  // Timeout, Malformed (an answer that is none); Reset, with Same only: the connection has gone.
  proxy::Result<std::vector<RespValue>> call(const RespCommands& commands, Link link = Link::Any);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  proxy::Result<> connect();
  proxy::Result<> connectTcp();
  proxy::Result<> connectUnix();
  proxy::Result<> connectTo(int family, const void* address, unsigned size);
  proxy::Result<> login();
  proxy::Result<std::vector<RespValue>> exchange(const RespCommands& commands);
  proxy::Result<> send(std::string_view bytes);
  proxy::Result<> receive();
  proxy::Result<> waitFor(short events);
  void pause(proxy::Error error, bool refused);
  std::string name() const;

  const config::Redis config_;
  proxy::UniqueFd fd_;
  std::optional<RespReader> reader_;  // of the present connection
  SteadyTime started_{};              // of the present call
  size_t transferred_ = 0;            // bytes of the present call, both ways

  std::optional<proxy::Error> last_error_;  // why there is no connection
  std::chrono::milliseconds delay_{0};
  SteadyTime next_attempt_{};
  std::minstd_rand random_;
};

}  // namespace flamegate::control
