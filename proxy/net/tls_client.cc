#include "proxy/net/tls_client.h"

#include <mutex>
#include <unordered_map>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "proxy/base/check.h"
#include "proxy/net/tls_material.h"
#include "proxy/net/tls_transport.h"

namespace flamegate::proxy {
namespace {

// Servers of one cluster; more are not remembered.
constexpr size_t kSessionsMax = 1024;

bool isIpAddress(const std::string& text) {
  in6_addr room;
  return inet_pton(AF_INET, text.c_str(), &room) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

}  // namespace

struct TlsClientContext::State {
  SslContextPtr context;
  bool verify = true;
  std::mutex mutex;
  std::unordered_map<std::string, SessionPtr> sessions;  // by server

  void remember(const std::string& server, SSL_SESSION* session) {
    const std::lock_guard lock(mutex);
    if (sessions.size() >= kSessionsMax && !sessions.contains(server)) sessions.clear();
    sessions[server].reset(session);
  }

  void resume(SSL* ssl, const std::string& server) {
    const std::lock_guard lock(mutex);
    const auto found = sessions.find(server);
    if (found != sessions.end()) SSL_set_session(ssl, found->second.get());
  }

  static int onNewSession(SSL* ssl, SSL_SESSION* session);
};

class TlsClientContext::ClientTransport final : public TlsTransport {
 public:
  ClientTransport(SSL* ssl, int fd, Readiness& ready, std::shared_ptr<State> state,
                  std::string server)
      : TlsTransport(ssl, fd, ready, state), state_(*state), server_(std::move(server)) {}

  void remember(SSL_SESSION* session) { state_.remember(server_, session); }

 private:
  State& state_;  // kept alive by the base
  const std::string server_;
};

// Takes the reference over that comes with the session.
int TlsClientContext::State::onNewSession(SSL* ssl, SSL_SESSION* session) {
  auto* transport = static_cast<TlsTransport*>(SSL_get_app_data(ssl));
  static_cast<ClientTransport*>(transport)->remember(session);
  return 1;
}

Result<TlsClientContext> TlsClientContext::create(const TlsClientOptions& options) {
  ERR_clear_error();
  auto state = std::make_shared<State>();
  state->verify = options.verify;
  state->context = makeTlsContext(TLS_client_method(), true);
  SSL_CTX* context = state->context.get();
  if (options.identity != nullptr && !options.identity->material().addTo(context)) {
    return fail(ErrorCode::Io, ErrorSource::Config, "certificate: " + takeOpensslReason());
  }
  if (options.authorities != nullptr) {
    SSL_CTX_set1_verify_cert_store(context, options.authorities->material().store.get());
  } else {
    SSL_CTX_set_default_verify_paths(context);
  }
  SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const std::string wire = alpnWire(options.alpn);
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, State::onNewSession);
  TlsTransport::observe(context);
  return TlsClientContext(std::move(state));
}

std::unique_ptr<Transport> TlsClientContext::connect(int fd, Readiness& ready,
                                                     const std::string& server) const {
  SSL* ssl = SSL_new(state_->context.get());
  CHECK(ssl != nullptr);
  SSL_set_connect_state(ssl);
  if (isIpAddress(server)) {
    if (state_->verify) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server.c_str());
  } else if (!server.empty()) {
    SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(server.c_str()));
    if (state_->verify) {
      SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      SSL_set1_host(ssl, server.c_str());
    }
  }
  state_->resume(ssl, server);
  return std::make_unique<ClientTransport>(ssl, fd, ready, state_, server);
}

}  // namespace flamegate::proxy
