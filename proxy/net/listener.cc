#include "proxy/net/listener.h"

#include <cerrno>

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

// A few at a time: accepting everything at once starves the connections that are being served.
constexpr int kAcceptsPerEvent = 4;
constexpr Duration kPauseWhenExhausted = std::chrono::milliseconds(100);

}  // namespace

Listener::Listener(EventLoop& loop, UniqueFd fd, OnAccept on_accept)
    : loop_(loop),
      fd_(std::move(fd)),
      on_accept_(std::move(on_accept)),
      resume_timer_(loop.timers(), [](void* self) { static_cast<Listener*>(self)->resume(); },
                    this) {}

Result<std::unique_ptr<Listener>> Listener::create(EventLoop& loop, UniqueFd fd,
                                                   OnAccept on_accept) {
  std::unique_ptr<Listener> listener(new Listener(loop, std::move(fd), std::move(on_accept)));
  listener->resume();
  if (!listener->watch_.active()) {
    return fail(ErrorCode::Io, ErrorSource::Internal, "the listening socket cannot be watched");
  }
  return listener;
}

Address Listener::address() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::fromSockaddr(reinterpret_cast<sockaddr*>(&storage), size);
}

void Listener::pause() {
  resume_timer_.disarm();
  watch_.stop();
}

void Listener::resume() {
  auto watched = loop_.watchLevel(
      fd_.get(), watch_, [](void* self, short) { static_cast<Listener*>(self)->acceptSome(); },
      this);
  if (!watched) logError("listener", watched.error().detail);
}

void Listener::acceptSome() {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    sockaddr_storage storage;
    socklen_t size = sizeof storage;
    UniqueFd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) {
        ++exhausted_;
        pause();
        resume_timer_.arm(loop_.now() + kPauseWhenExhausted);
      }
      return;
    }
    on_accept_(std::move(fd), Address::fromSockaddr(reinterpret_cast<sockaddr*>(&storage), size));
  }
}

}  // namespace flamegate::proxy
