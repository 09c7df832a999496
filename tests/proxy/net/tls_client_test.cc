#include "proxy/net/tls_client.h"

#include <openssl/x509v3.h>

#include "tests/proxy/net/tls_pair.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

// Ours is the client; the server has a certificate of `authority`.
struct TlsClientTest : TlsPair {
  TlsClientTest() { peer_context = SSL_CTX_new(TLS_server_method()); }

  void serveAs(const TestCertificate& certificate) {
    SSL_CTX_use_certificate(peer_context, certificate.x509());
    SSL_CTX_use_PrivateKey(peer_context, certificate.key());
  }

  TlsClientOptions trusting() {
    return {.authorities = *TlsAuthorities::load(folder.write("ca.pem", authority.pem()))};
  }

  void use(const TlsClientOptions& options) {
    auto made = TlsClientContext::create(options);
    ASSERT_TRUE(made) << made.error().detail;
    client = std::move(*made);
  }

  void open(const std::string& server = "app.test") {
    connect([&](int fd, Readiness& ready) { return client->connect(fd, ready, server); });
    SSL_set_accept_state(peer_ssl);
  }

  const TestCertificate authority{{.common_name = "authority", .authority = true}};
  const TestCertificate app{{.names = {"app.test", "*.b.test", "IP:127.0.0.1"}}, &authority};
  std::optional<TlsClientContext> client;
};

TEST_F(TlsClientTest, CarriesDataBothWays) {
  serveAs(app);
  use(trusting());
  open();
  EXPECT_EQ(connection->write("early").state, State::Blocked) << "the handshake comes first";
  ASSERT_TRUE(handshake());
  EXPECT_EQ(connection->write("hello").bytes, 5u);
  EXPECT_EQ(peerReads(), "hello");
  SSL_write(peer_ssl, "answer", 6);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 6u);
  EXPECT_STREQ(SSL_get_servername(peer_ssl, TLSEXT_NAMETYPE_host_name), "app.test");
}

TEST_F(TlsClientTest, AcceptsOnlyTheServersName) {  // RFC 9110 §4.3.4
  serveAs(app);
  use(trusting());
  for (const char* server : {"app.test", "x.b.test", "127.0.0.1"}) {
    open(server);
    EXPECT_TRUE(handshake()) << server;
  }
  for (const char* server : {"other.test", "b.test", "x.y.b.test", "127.0.0.2"}) {
    open(server);
    EXPECT_FALSE(handshake()) << server;
    EXPECT_EQ(transport().fault(), TransportFault::Untrusted) << server;
  }
  open("other.test");
  handshake();
  EXPECT_EQ(transport().failure(), "TLS: the certificate was not accepted: hostname mismatch");
}

TEST_F(TlsClientTest, SendsNoAddressAsAName) {  // RFC 6066 §3
  serveAs(app);
  use(trusting());
  open("127.0.0.1");
  ASSERT_TRUE(handshake());
  EXPECT_EQ(SSL_get_servername(peer_ssl, TLSEXT_NAMETYPE_host_name), nullptr);
}

TEST_F(TlsClientTest, AcceptsOnlyTheAuthoritiesThatAreNamed) {
  const TestCertificate stranger({.names = {"app.test"}});
  serveAs(stranger);
  use(trusting());
  open();
  EXPECT_FALSE(handshake());
  EXPECT_EQ(transport().failure(),
            "TLS: the certificate was not accepted: self-signed certificate");
  use({});
  open();
  EXPECT_FALSE(handshake()) << "nor does the system know it";
}

TEST_F(TlsClientTest, RefusesAnExpiredCertificate) {
  serveAs(
      TestCertificate({.names = {"app.test"}, .valid_from = -100, .valid_until = -10}, &authority));
  use(trusting());
  open();
  EXPECT_FALSE(handshake());
  EXPECT_EQ(transport().failure(),
            "TLS: the certificate was not accepted: certificate has expired");
}

TEST_F(TlsClientTest, AcceptsAnythingWhereItNeedNotVerify) {
  serveAs(TestCertificate({.names = {"other.test"}, .valid_from = -100, .valid_until = -10}));
  use({.verify = false});
  open();
  EXPECT_TRUE(handshake());
  EXPECT_TRUE(transport().peerNames().empty()) << "what is not verified is not told";
}

TEST_F(TlsClientTest, ShowsItsOwnCertificate) {
  serveAs(app);
  TlsClientOptions options = trusting();
  options.identity = folder.identity(TestCertificate({.names = {"proxy.test"}}, &authority));
  use(options);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(peer_context), authority.x509());
  SSL_CTX_set_verify(peer_context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  open();
  ASSERT_TRUE(handshake());
  EXPECT_EQ(X509_check_host(SSL_get0_peer_certificate(peer_ssl), "proxy.test", 0, 0, nullptr), 1);
}

TEST_F(TlsClientTest, OffersProtocols) {
  serveAs(app);
  TlsClientOptions options = trusting();
  options.alpn = {"h2", "http/1.1"};
  use(options);
  SSL_CTX_set_alpn_select_cb(
      peer_context,
      [](SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
         unsigned in_size, void*) {
        unsigned char* chosen = nullptr;
        const auto* ours = reinterpret_cast<const unsigned char*>("\x08http/1.1");
        const int result = SSL_select_next_proto(&chosen, out_size, ours, 9, in, in_size);
        *out = chosen;
        return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
      },
      nullptr);
  open();
  ASSERT_TRUE(handshake());
  EXPECT_EQ(transport().protocol(), "http/1.1");
}

TEST_F(TlsClientTest, ResumesItsLastSessionWithAServer) {
  serveAs(app);
  SSL_CTX_set_session_id_context(peer_context, reinterpret_cast<const unsigned char*>("t"), 1);
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(peer_context, version);
    use(trusting());
    open();
    ASSERT_TRUE(handshake());
    EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked) << "tickets are no content";
    open("x.b.test");
    ASSERT_TRUE(handshake());
    EXPECT_EQ(SSL_session_reused(peer_ssl), 0) << "another server";
    open();
    ASSERT_TRUE(handshake());
    EXPECT_EQ(SSL_session_reused(peer_ssl), 1) << version;
  }
}

TEST_F(TlsClientTest, TellsAServerThatSpeaksClearText) {
  use(trusting());
  open();
  connection->write("x");
  sendSome(peer.get(), "HTTP/1.1 400 Bad Request\r\n\r\n");
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Failed);
  EXPECT_EQ(transport().fault(), TransportFault::Protocol);
}

TEST_F(TlsClientTest, TellsAServerThatLeaves) {
  use(trusting());
  open();
  connection->write("x");
  ::shutdown(peer.get(), SHUT_WR);
  loop->runOnce(false);
  EXPECT_NE(connection->read(buffer, 1).state, State::Done);
  EXPECT_EQ(transport().failure(), "TLS: closed during the handshake");
}

}  // namespace
}  // namespace flamegate::proxy
