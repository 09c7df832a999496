// A connection of ours with TLS, and OpenSSL itself at the other end.
#pragma once

#include <optional>
#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "proxy/net/connection.h"
#include "proxy/net/tls_server.h"
#include "tests/proxy/net/certificates.h"
#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {

struct Counter final : ConnectionEvents {
  void onReady() override { ++count; }
  int count = 0;
};

class TlsPair : public testing::Test {
 protected:
  ~TlsPair() override {
    forgetPeer();
    SSL_CTX_free(peer_context);
  }

  // New connections at both ends; `make_transport(fd, readiness)` is ours.
  template <typename MakeTransport>
  void connect(MakeTransport make_transport) {
    connection.reset();
    SocketPair pair = makeSocketPair();
    peer = std::move(pair.peer);
    connection = std::make_unique<Connection>(*loop, std::move(pair.ours), events,
                                              Readiness{.readable = true, .writable = true});
    connection->setTransport(make_transport(connection->fd(), connection->readiness()));
    ASSERT_TRUE(connection->start());
    forgetPeer();
    peer_ssl = SSL_new(peer_context);
    SSL_set_fd(peer_ssl, peer.get());
  }

  // Both sides take turns until both handshakes are over, or one has failed.
  bool handshake() {
    for (int i = 0; i < 20; ++i) {
      ERR_clear_error();
      const int result = SSL_do_handshake(peer_ssl);
      last_read = connection->read(buffer, 1);
      loop->runOnce(false);
      if (result == 1 && connection->transport()->handshakeDone()) return true;
      if (result != 1 && SSL_get_error(peer_ssl, result) != SSL_ERROR_WANT_READ) return false;
      if (last_read.state == IoResult::State::Failed) return false;
    }
    return false;
  }

  std::string peerReads() {
    char block[20'000];
    const int got = SSL_read(peer_ssl, block, sizeof block);
    return got > 0 ? std::string(block, static_cast<size_t>(got)) : std::string();
  }

  // Without spoiling its session.
  void forgetPeer() {
    if (peer_ssl == nullptr) return;
    SSL_set_shutdown(peer_ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(peer_ssl);
    peer_ssl = nullptr;
  }

  Transport& transport() { return *connection->transport(); }

  CertificateFolder folder;
  std::unique_ptr<EventLoop> loop = makeLoop();
  Counter events;
  UniqueFd peer;
  std::unique_ptr<Connection> connection;
  Buffer buffer{loop->buffers()};
  IoResult last_read;
  SSL_CTX* peer_context = nullptr;
  SSL* peer_ssl = nullptr;
};

// Ours is the server.
class TlsServerPair : public TlsPair {
 protected:
  TlsServerPair() { peer_context = SSL_CTX_new(TLS_client_method()); }

  // With a certificate for "a.test" unless the options have others.
  void serve(TlsServerOptions options = {}) {
    if (options.identities.empty()) options.identities.push_back(folder.identity({"a.test"}));
    auto made = TlsServerContext::create(options);
    ASSERT_TRUE(made) << made.error().detail;
    server = std::move(*made);
  }

  // A new client, before its handshake.
  void open(const std::string& server_name = "") {
    connect([this](int fd, Readiness& ready) { return server->accept(fd, ready); });
    SSL_set_connect_state(peer_ssl);
    if (server_name.empty()) return;
    SSL_ctrl(peer_ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(server_name.c_str()));
  }

  std::optional<TlsServerContext> server;
};

}  // namespace flamegate::proxy
