#include "proxy/session/negotiating_session.h"

#include <cstdlib>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/session/connect_failure.h"
#include "proxy/session/http1_client_session.h"
#include "proxy/session/http2_client_session.h"

namespace flamegate::proxy {

NegotiatingSession::NegotiatingSession(ClientSessionContext& context,
                                       std::unique_ptr<Connection> connection, void* endpoint,
                                       ClientSessionOwner& owner)
    : ClientSession(endpoint),
      context_(context),
      owner_(owner),
      connection_(std::move(connection)),
      in_(context.loop.buffers()) {
  connection_->setEvents(*this);
}

Result<> NegotiatingSession::start() { return connection_->start(); }

ClientStream& NegotiatingSession::begin(ClientStreamEvents&) {
  CHECK(false);  // streamsFree() is 0
  std::abort();
}

void NegotiatingSession::end(ClientStream&) { CHECK(false); }

void NegotiatingSession::retire() {
  over_ = true;
  if (connection_ != nullptr) connection_->stop();
}

void NegotiatingSession::onReady() {
  if (over_) return;
  const IoResult got = connection_->read(in_, BufferPool::kSmallBytes);
  if (connection_->transport()->handshakeDone()) return replace();
  if (got.state == IoResult::State::Eof || got.state == IoResult::State::Failed) fail(got);
}

void NegotiatingSession::replace() {
  over_ = true;
  std::unique_ptr<ClientSession> made;
  if (connection_->transport()->protocol() == "h2") {
    auto http2 = std::make_unique<Http2ClientSession>(*context_.http2, std::move(connection_),
                                                      std::move(in_), endpoint(), owner_);
    if (auto started = http2->start(); !started) {
      owner_.onSessionLost(*this, &started.error());
      return;
    }
    made = std::move(http2);
  } else {
    made = std::make_unique<Http1ClientSession>(context_, std::move(connection_), endpoint(), owner_);
  }
  owner_.onSessionReplaced(*this, std::move(made));
}

void NegotiatingSession::fail(const IoResult& result) {
  over_ = true;
  connection_->stop();
  const Error why = connectFailure(*connection_, result.error);
  owner_.onSessionLost(*this, &why);
}

}  // namespace flamegate::proxy
