#include "proxy/session/proxy_greeting.h"

#include <cerrno>

#include <sys/socket.h>

namespace flamegate::proxy {

ProxyGreeting::ProxyGreeting(ProxyGreetingContext& context, UniqueFd fd, const Address& peer,
                             size_t listener)
    : context_(context),
      fd_(std::move(fd)),
      peer_(peer),
      listener_(listener),
      timer_(
          context.loop.timers(),
          [](void* self) { static_cast<ProxyGreeting*>(self)->finish("proxy-header-timeout"); },
          this) {}

void ProxyGreeting::start() {
  timer_.arm(context_.loop.now() + context_.timeout);
  const auto watched = context_.loop.watch(
      fd_.get(), watch_,
      [](void* self, short events) { static_cast<ProxyGreeting*>(self)->onEvent(events); }, this);
  if (!watched) finish("internal");
}

UniqueFd ProxyGreeting::takeFd() {
  watch_.stop();
  return std::move(fd_);
}

// Each edge brings new bytes or the end; those that have been looked at stay in the socket.
void ProxyGreeting::onEvent(short events) {
  if (done_) return;
  if ((events & EventLoop::kClosed) != 0) peer_closed_ = true;
  look();
}

void ProxyGreeting::look() {
  char bytes[kProxyHeaderBytesMax];
  ssize_t got;
  do {
    got = ::recv(fd_.get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return finish("proxy-header-missing");
  const ProxyHeaderParse parse = parseProxyHeader({bytes, static_cast<size_t>(got)});
  switch (parse.state) {
    case ProxyHeaderParse::State::Malformed:
      return finish("proxy-header-malformed");
    case ProxyHeaderParse::State::Incomplete:
      if (peer_closed_) finish("proxy-header-missing");
      return;
    case ProxyHeaderParse::State::Complete:
      return take(parse.header);
  }
}

void ProxyGreeting::take(const ProxyHeader& header) {
  char bytes[kProxyHeaderBytesMax];
  // They are there already, so that this call is never short.
  const ssize_t got = ::recv(fd_.get(), bytes, header.bytes, MSG_DONTWAIT);
  if (got != static_cast<ssize_t>(header.bytes)) return finish("proxy-header-missing");
  if (header.origin == ProxyHeader::Origin::Client) client_ = header.client;
  if (header.origin == ProxyHeader::Origin::Proxy) client_ = peer_;
  finish({});
}

void ProxyGreeting::finish(std::string_view refusal) {
  if (done_) return;
  done_ = true;
  refusal_ = refusal;
  timer_.disarm();
  watch_.stop();
  context_.on_done(context_.owner, *this);
}

}  // namespace flamegate::proxy
