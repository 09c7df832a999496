// Accepts connections on one listening socket.
#pragma once

#include <functional>

#include "proxy/net/address.h"
#include "proxy/net/event_loop.h"

namespace flamegate::proxy {

// Calls `on_accept` once for each connection, from the loop. When descriptors run out it pauses for
// 100 ms and counts, rather than spin.
// Owner: a Worker or control's server. Thread: its loop's. Ends: stops listening when destroyed.
class Listener {
 public:
  using OnAccept = std::function<void(UniqueFd fd, const Address& peer)>;

  // Takes the descriptor over.
  static Result<std::unique_ptr<Listener>> create(EventLoop& loop, UniqueFd fd, OnAccept on_accept);

  // Where it listens: the port that the system chose, too.
  Address address() const;
  void pause();
  void resume();
  uint64_t exhaustedCount() const { return exhausted_; }

 private:
  Listener(EventLoop& loop, UniqueFd fd, OnAccept on_accept);
  void acceptSome();

  EventLoop& loop_;
  UniqueFd fd_;
  OnAccept on_accept_;
  Watch watch_;
  Timer resume_timer_;
  uint64_t exhausted_ = 0;
};

}  // namespace flamegate::proxy
