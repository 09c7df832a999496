// What comes before anything else on a connection that a proxy in front of us relays.
#pragma once

#include "proxy/base/intrusive_list.h"
#include "proxy/net/event_loop.h"
#include "proxy/net/proxy_protocol.h"

namespace flamegate::proxy {

class ProxyGreeting;

// What the greetings of one loop share. Outlives them.
struct ProxyGreetingContext {
  EventLoop& loop;
  Duration timeout = std::chrono::seconds(10);  // for the whole header
  // Told once when a greeting is over, possibly from start(). The owner hands it to deleteLater.
  void (*on_done)(void* owner, ProxyGreeting& greeting) = nullptr;
  void* owner = nullptr;
};

// Reads the header of the PROXY protocol and no byte beyond it, so that TLS or HTTP finds its own
// beginning untouched: looks at what has arrived (MSG_PEEK) and takes the header once it is whole.
// Owner: a worker's list. Thread: the loop's. Ends: on_done.
class ProxyGreeting final : public Deletable, public ListNode<> {
 public:
  // `peer` is the proxy.
  ProxyGreeting(ProxyGreetingContext& context, UniqueFd fd, const Address& peer, size_t listener);

  void start();

  // After on_done: why there is no connection; empty: there is one. A literal, for the access log.
  std::string_view refusal() const { return refusal_; }
  const Address& peer() const { return peer_; }
  // Whom the connection is for: the proxy itself where it speaks for itself, an unspecified address
  // where it does not say.
  const Address& client() const { return client_; }
  size_t listener() const { return listener_; }
  UniqueFd takeFd();

 private:
  void onEvent(short events);
  void look();
  void take(const ProxyHeader& header);
  void finish(std::string_view refusal);

  ProxyGreetingContext& context_;
  UniqueFd fd_;
  const Address peer_;
  Address client_;
  const size_t listener_;
  Watch watch_;  // goes before the descriptor
  Timer timer_;
  std::string_view refusal_;
  bool peer_closed_ = false;
  bool done_ = false;
};

}  // namespace flamegate::proxy
