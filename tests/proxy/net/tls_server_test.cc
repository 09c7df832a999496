#include "proxy/net/tls_server.h"

#include <openssl/x509v3.h>

#include "proxy/net/tls_openssl.h"
#include "tests/proxy/net/tls_pair.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

struct TlsServerTest : TlsServerPair {
  // The first DNS name of the certificate that a client is shown.
  std::string nameShown(const std::string& asked) {
    open(asked);
    if (!handshake()) return "no handshake";
    X509* leaf = SSL_get0_peer_certificate(peer_ssl);
    auto* names =
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr));
    if (names == nullptr) return "no names";
    const ASN1_IA5STRING* first = sk_GENERAL_NAME_value(names, 0)->d.dNSName;
    const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(first)),
                           static_cast<size_t>(ASN1_STRING_length(first)));
    GENERAL_NAMES_free(names);
    return text;
  }

  int keyTypeShown(const std::string& asked, const char* algorithms) {
    open(asked);
    SSL_set1_sigalgs_list(peer_ssl, algorithms);
    if (!handshake()) return 0;
    return EVP_PKEY_get_base_id(X509_get0_pubkey(SSL_get0_peer_certificate(peer_ssl)));
  }

  void offerAlpn(std::string_view wire) {
    SSL_set_alpn_protos(peer_ssl, reinterpret_cast<const unsigned char*>(wire.data()),
                        static_cast<unsigned>(wire.size()));
  }

  void presentCertificate(const TestCertificate& certificate) {
    SSL_CTX_use_certificate(peer_context, certificate.x509());
    SSL_CTX_use_PrivateKey(peer_context, certificate.key());
  }

  // A session that the client can resume, from a finished handshake.
  SessionPtr takeSession() {
    connection->write("x");
    peerReads();
    return SessionPtr(SSL_get1_session(peer_ssl));
  }

  bool resumes(SSL_SESSION* session) {
    open("a.test");
    SSL_set_session(peer_ssl, session);
    return handshake() && SSL_session_reused(peer_ssl) == 1;
  }

  std::shared_ptr<const TlsAuthorities> authoritiesOf(const TestCertificate& authority) {
    auto loaded = TlsAuthorities::load(folder.write("clients.pem", authority.pem()));
    EXPECT_TRUE(loaded);
    return *loaded;
  }
};

// ---- Choice of the certificate (RFC 6066 §3) ----------------------------------------------------

TEST_F(TlsServerTest, ShowsTheCertificateThatHasTheName) {
  serve({.identities = {folder.identity({"a.test"}), folder.identity({"*.b.test"}),
                        folder.identity({"x.b.test", "c.test"})}});
  EXPECT_EQ(nameShown("a.test"), "a.test");
  EXPECT_EQ(nameShown("A.TEST"), "a.test");
  EXPECT_EQ(nameShown("c.test"), "x.b.test");
  EXPECT_EQ(nameShown("y.b.test"), "*.b.test");
  EXPECT_EQ(nameShown("x.b.test"), "x.b.test") << "exact before wildcard";
}

TEST_F(TlsServerTest, ShowsTheFirstToWhoAsksForNothingOrStrangers) {
  serve({.identities = {folder.identity({"a.test"}), folder.identity({"*.b.test"})}});
  EXPECT_EQ(nameShown(""), "a.test");
  EXPECT_EQ(nameShown("other.test"), "a.test");
  EXPECT_EQ(nameShown("b.test"), "a.test");
  EXPECT_EQ(nameShown("x.y.b.test"), "a.test") << "a wildcard is for one label";
  EXPECT_EQ(nameShown("localhost"), "a.test");
}

TEST_F(TlsServerTest, ShowsTheKindOfKeyThatTheClientKnows) {
  serve({.identities = {folder.identity({"a.test"}, KeyKind::Ec),
                        folder.identity({"*.test"}, KeyKind::Rsa),
                        folder.identity({"a.test"}, KeyKind::Rsa)}});
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(peer_context, version);
    EXPECT_EQ(keyTypeShown("a.test", "ECDSA+SHA256:RSA-PSS+SHA256"), EVP_PKEY_EC);
    EXPECT_EQ(keyTypeShown("a.test", "RSA-PSS+SHA256"), EVP_PKEY_RSA);
    EXPECT_EQ(keyTypeShown("", "RSA-PSS+SHA256"), EVP_PKEY_RSA) << "the default has its pair";
  }
}

TEST_F(TlsServerTest, CompletesANameByItsWildcard) {
  serve({.identities = {folder.identity({"a.test"}, KeyKind::Ec),
                        folder.identity({"*.test"}, KeyKind::Rsa)}});
  EXPECT_EQ(keyTypeShown("a.test", "RSA-PSS+SHA256"), EVP_PKEY_RSA);
}

TEST_F(TlsServerTest, KnowsRequestsForAnotherCertificate) {  // RFC 9110 §7.4
  serve({.identities = {folder.identity({"a.test", "www.a.test"}), folder.identity({"*.b.test"}),
                        folder.identity({"x.b.test"})}});
  open("www.a.test");
  ASSERT_TRUE(handshake());
  EXPECT_FALSE(transport().isMisdirected("a.test"));
  EXPECT_TRUE(transport().isMisdirected("y.b.test"));
  EXPECT_TRUE(transport().isMisdirected("Y.B.Test"));
  EXPECT_FALSE(transport().isMisdirected("10.0.0.1")) << "no certificate would be better";
  open("y.b.test");
  ASSERT_TRUE(handshake());
  EXPECT_FALSE(transport().isMisdirected("x.b.test")) << "the wildcard covers it, too";
  EXPECT_TRUE(transport().isMisdirected("a.test"));
}

// ---- Agreement ----------------------------------------------------------------------------------

TEST_F(TlsServerTest, AgreesOnAProtocolInTheServersOrder) {
  serve({.alpn = {"h2", "http/1.1"}});
  open();
  offerAlpn("\x08http/1.1\x02h2");
  ASSERT_TRUE(handshake());
  EXPECT_EQ(transport().protocol(), "h2");
}

TEST_F(TlsServerTest, RefusesAClientThatOffersOnlyProtocolsWeLack) {  // RFC 7301 §3.2
  serve({.alpn = {"http/1.1"}});
  open();
  offerAlpn(
      "\x03"
      "foo");
  EXPECT_FALSE(handshake());
  SSL_do_handshake(peer_ssl);
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
}

TEST_F(TlsServerTest, ServesAClientWithoutAlpn) {
  serve({.alpn = {"h2", "http/1.1"}});
  open();
  ASSERT_TRUE(handshake());
  EXPECT_EQ(transport().protocol(), "");
}

TEST_F(TlsServerTest, RefusesOldVersionsAsConfigured) {
  serve({.allow_tls12 = false});
  open();
  SSL_set_max_proto_version(peer_ssl, TLS1_2_VERSION);
  EXPECT_FALSE(handshake());
}

TEST_F(TlsServerTest, RefusesVersionsAndCiphersThatAreOutdated) {
  serve();
  SSL_CTX_set_security_level(peer_context, 0);
  open();
  SSL_set_min_proto_version(peer_ssl, TLS1_VERSION);
  SSL_set_max_proto_version(peer_ssl, TLS1_1_VERSION);
  EXPECT_FALSE(handshake());
  open();
  SSL_set_max_proto_version(peer_ssl, TLS1_2_VERSION);
  SSL_set_cipher_list(peer_ssl, "AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA");
  EXPECT_FALSE(handshake());
}

// ---- Sessions (RFC 5077, RFC 8446 §2.2) ---------------------------------------------------------

TEST_F(TlsServerTest, ResumesSessionsOverARenewalOfTheContext) {
  const auto tickets = std::make_shared<TlsTicketKeys>();
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(peer_context, version);
    serve({.tickets = tickets});
    open("a.test");
    ASSERT_TRUE(handshake());
    EXPECT_EQ(SSL_session_reused(peer_ssl), 0);
    const SessionPtr session = takeSession();
    EXPECT_TRUE(resumes(session.get())) << version;
    serve({.tickets = tickets});
    EXPECT_TRUE(resumes(session.get())) << version;
    serve({.tickets = std::make_shared<TlsTicketKeys>()});
    EXPECT_FALSE(resumes(session.get())) << "keys of another process";
  }
}

TEST_F(TlsServerTest, DoesNotResumeWhereClientsMustProveMore) {
  const auto tickets = std::make_shared<TlsTicketKeys>();
  const TestCertificate authority({.common_name = "clients", .authority = true});
  serve({.tickets = tickets});
  open("a.test");
  ASSERT_TRUE(handshake());
  const SessionPtr session = takeSession();
  serve({.client_authorities = authoritiesOf(authority),
         .client_required = false,
         .tickets = tickets});
  EXPECT_FALSE(resumes(session.get()));
  serve({.client_authorities = authoritiesOf(authority), .tickets = tickets});
  open("a.test");
  SSL_set_session(peer_ssl, session.get());
  EXPECT_FALSE(handshake() && connection->read(buffer, 1).state != State::Failed);
}

// ---- Client certificates ------------------------------------------------------------------------

TEST_F(TlsServerTest, TellsTheNamesOfAClientsCertificate) {
  const TestCertificate authority({.common_name = "clients", .authority = true});
  const TestCertificate client({.names = {"Me.dev.test", "IP:10.0.0.1"}}, &authority);
  const auto tickets = std::make_shared<TlsTicketKeys>();
  serve({.client_authorities = authoritiesOf(authority), .tickets = tickets});
  presentCertificate(client);
  open("a.test");
  EXPECT_TRUE(transport().peerNames().empty()) << "not before the handshake";
  ASSERT_TRUE(handshake());
  ASSERT_EQ(transport().peerNames().size(), 1U);
  EXPECT_EQ(transport().peerNames()[0], "me.dev.test");
  const SessionPtr session = takeSession();
  ASSERT_TRUE(resumes(session.get()));
  ASSERT_EQ(transport().peerNames().size(), 1U) << "the session remembers";
}

TEST_F(TlsServerTest, RefusesAClientWithoutACertificateWhereOneIsRequired) {
  const TestCertificate authority({.common_name = "clients", .authority = true});
  serve({.client_authorities = authoritiesOf(authority)});
  SSL_CTX_set_max_proto_version(peer_context, TLS1_2_VERSION);
  open();
  EXPECT_FALSE(handshake());
  EXPECT_EQ(transport().failure(), "TLS: peer did not return a certificate");
}

TEST_F(TlsServerTest, LetsAClientWithoutACertificateInWhereItIsOptional) {
  const TestCertificate authority({.common_name = "clients", .authority = true});
  serve({.client_authorities = authoritiesOf(authority), .client_required = false});
  open();
  ASSERT_TRUE(handshake());
  EXPECT_TRUE(transport().peerNames().empty());
}

TEST_F(TlsServerTest, RefusesACertificateOfOthersEvenWhereItIsOptional) {
  const TestCertificate authority({.common_name = "clients", .authority = true});
  const TestCertificate other({.common_name = "others", .authority = true});
  serve({.client_authorities = authoritiesOf(authority), .client_required = false});
  presentCertificate(TestCertificate({.names = {"me.dev.test"}}, &other));
  SSL_CTX_set_max_proto_version(peer_context, TLS1_2_VERSION);
  open();
  EXPECT_FALSE(handshake());
  EXPECT_EQ(transport().fault(), TransportFault::Untrusted);
}

// ---- Stapling (RFC 6066 §8) ---------------------------------------------------------------------

TEST_F(TlsServerTest, StaplesToTheCertificateThatItShows) {
  const TestCertificate authority({.common_name = "authority", .authority = true});
  const TestCertificate plain({.names = {"plain.test"}}, &authority);
  const TestCertificate leaf({.names = {"a.test"}}, &authority);
  TlsIdentityFiles files = folder.write("site", leaf, {&authority});
  const std::string answer = authority.ocspFor(leaf, -60, 600);
  files.ocsp = folder.write("site.ocsp", answer);
  serve({.identities = {folder.identity(plain), *TlsIdentity::load(files)}});
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(peer_context, version);
    open("a.test");
    SSL_set_tlsext_status_type(peer_ssl, TLSEXT_STATUSTYPE_ocsp);
    ASSERT_TRUE(handshake());
    unsigned char* stapled = nullptr;
    const long size = SSL_get_tlsext_status_ocsp_resp(peer_ssl, &stapled);
    ASSERT_GT(size, 0);
    EXPECT_TRUE(answer == std::string(reinterpret_cast<char*>(stapled), static_cast<size_t>(size)));
    open("plain.test");
    SSL_set_tlsext_status_type(peer_ssl, TLSEXT_STATUSTYPE_ocsp);
    ASSERT_TRUE(handshake());
    EXPECT_LE(SSL_get_tlsext_status_ocsp_resp(peer_ssl, &stapled), 0);
  }
}

// ---- Life ---------------------------------------------------------------------------------------

TEST_F(TlsServerTest, OutlivesItsContextInOpenConnections) {
  serve({.identities = {folder.identity({"a.test"}), folder.identity({"b.test"})},
         .alpn = {"http/1.1"},
         .tickets = std::make_shared<TlsTicketKeys>()});
  open("b.test");
  offerAlpn("\x08http/1.1");
  server.reset();
  EXPECT_TRUE(handshake());
}

}  // namespace
}  // namespace flamegate::proxy
