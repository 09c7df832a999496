#include "proxy/net/tls.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "proxy/net/connection.h"
#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

// A self-signed certificate and its key as files.
struct CertificateFiles {
  CertificateFiles() {
    const std::string base = testing::TempDir() + "flamegate-tls-" + std::to_string(::getpid());
    cert = base + ".pem";
    key = base + ".key";
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, pair);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    EXPECT_GT(X509_sign(x509, pair, EVP_sha256()), 0);
    FILE* file = std::fopen(cert.c_str(), "w");
    EXPECT_EQ(PEM_write_X509(file, x509), 1);
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    EXPECT_EQ(PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
    X509_free(x509);
    EVP_PKEY_free(pair);
  }
  ~CertificateFiles() {
    ::unlink(cert.c_str());
    ::unlink(key.c_str());
  }
  std::string cert;
  std::string key;
};

struct Counter final : ConnectionEvents {
  void onReady() override { ++count; }
  int count = 0;
};

// A server's connection with TLS, and OpenSSL's own client at the other end.
struct TlsTest : testing::Test {
  ~TlsTest() override {
    SSL_free(client);
    SSL_CTX_free(client_context);
  }

  void open(TlsServerOptions options, const std::string& client_alpn = "") {
    options.cert_file = files.cert;
    options.key_file = files.key;
    auto made = TlsServerContext::create(options);
    ASSERT_TRUE(made) << made.error().detail;
    context = std::move(*made);
    SocketPair pair = makeSocketPair();
    peer = std::move(pair.peer);
    connection = std::make_unique<Connection>(*loop, std::move(pair.ours), events,
                                              Readiness{.readable = true, .writable = true});
    connection->setTransport(context->accept(connection->fd(), connection->readiness()));
    ASSERT_TRUE(connection->start());
    client_context = SSL_CTX_new(TLS_client_method());
    client = SSL_new(client_context);
    SSL_set_fd(client, peer.get());
    SSL_set_connect_state(client);
    if (!client_alpn.empty()) {
      SSL_set_alpn_protos(client, reinterpret_cast<const unsigned char*>(client_alpn.data()),
                          static_cast<unsigned>(client_alpn.size()));
    }
  }

  // Both sides take turns until the client's handshake is over or has failed.
  bool handshake() {
    for (int i = 0; i < 20; ++i) {
      ERR_clear_error();
      const int result = SSL_do_handshake(client);
      last_read = connection->read(buffer, 1);
      loop->runOnce(false);
      if (result == 1 && connection->transport()->handshakeDone()) return true;
      if (result != 1 && SSL_get_error(client, result) != SSL_ERROR_WANT_READ) return false;
    }
    return false;
  }

  std::string clientReads() {
    char block[20'000];
    const int got = SSL_read(client, block, sizeof block);
    return got > 0 ? std::string(block, static_cast<size_t>(got)) : std::string();
  }

  CertificateFiles files;
  std::unique_ptr<EventLoop> loop = makeLoop();
  Counter events;
  UniqueFd peer;
  std::unique_ptr<TlsServerContext> context;
  std::unique_ptr<Connection> connection;
  Buffer buffer{loop->buffers()};
  IoResult last_read;
  SSL_CTX* client_context = nullptr;
  SSL* client = nullptr;
};

TEST_F(TlsTest, CarriesDataBothWays) {
  open({});
  ASSERT_TRUE(handshake());
  EXPECT_TRUE(connection->secure());
  EXPECT_EQ(SSL_write(client, "hello", 5), 5);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 5u);
  EXPECT_EQ(buffer.view(), "hello");
  EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked);
  EXPECT_EQ(connection->write("answer").bytes, 6u);
  EXPECT_EQ(clientReads(), "answer");
}

TEST_F(TlsTest, MovesMoreThanTheSocketHolds) {
  open({});
  ASSERT_TRUE(handshake());
  const int bytes = 8192;
  ::setsockopt(connection->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  const std::string sent(1'000'000, 's');
  size_t written = 0;
  size_t received = 0;
  while (received < sent.size()) {
    IoResult result;
    do {
      result = connection->write(std::string_view(sent).substr(written));
      ASSERT_NE(result.state, State::Failed);
      written += result.bytes;
    } while (result.bytes > 0 && written < sent.size());
    for (std::string got = clientReads(); !got.empty(); got = clientReads()) received += got.size();
    loop->runOnce(false);
  }
  EXPECT_EQ(written, sent.size());
}

TEST_F(TlsTest, ReadsRecordsThatOneSystemCallBrought) {
  open({});
  ASSERT_TRUE(handshake());
  for (int i = 0; i < 5; ++i) SSL_write(client, "hello", 5);
  loop->runOnce(false);
  IoResult result;
  while ((result = connection->read(buffer, 1)).state == State::Done) {
  }
  EXPECT_EQ(result.state, State::Blocked);
  EXPECT_EQ(buffer.size(), 25u) << "no edge comes for records that OpenSSL has already taken in";
}

TEST_F(TlsTest, AgreesOnAProtocolInTheServersOrder) {
  TlsServerOptions options;
  options.alpn = {"h2", "http/1.1"};
  open(options, "\x08http/1.1\x02h2");
  ASSERT_TRUE(handshake());
  EXPECT_EQ(connection->transport()->protocol(), "h2");
}

TEST_F(TlsTest, RefusesAClientThatOffersOnlyProtocolsWeLack) {
  TlsServerOptions options;
  options.alpn = {"http/1.1"};
  open(options,
       "\x03"
       "foo");
  EXPECT_FALSE(handshake());
}

TEST_F(TlsTest, TakesAnOrderlyEndForAnEnd) {
  open({});
  ASSERT_TRUE(handshake());
  SSL_shutdown(client);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof);
  EXPECT_EQ(connection->transport()->failure(), "");
}

TEST_F(TlsTest, TellsACloseWithoutCloseNotify) {
  open({});
  ASSERT_TRUE(handshake());
  SSL_write(client, "part", 4);
  ::shutdown(peer.get(), SHUT_WR);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 4u);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof);
  EXPECT_EQ(connection->transport()->failure(), "TLS: closed without close_notify");
}

TEST_F(TlsTest, SaysCloseNotifyBeforeItEnds) {
  open({});
  ASSERT_TRUE(handshake());
  connection->write("last");
  connection->closeWrite();
  EXPECT_EQ(clientReads(), "last");
  EXPECT_EQ(SSL_read(client, files.cert.data(), 1), 0);
  EXPECT_NE(SSL_get_shutdown(client) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(TlsTest, FailsOnClearText) {
  open({});
  sendSome(peer.get(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Failed);
  EXPECT_NE(connection->transport()->failure(), "");
}

TEST_F(TlsTest, RefusesOldVersionsAsConfigured) {
  TlsServerOptions options;
  options.allow_tls12 = false;
  open(options);
  SSL_set_max_proto_version(client, TLS1_2_VERSION);
  EXPECT_FALSE(handshake());
}

TEST(TlsServerContext, NamesTheFileThatItCannotUse) {
  const CertificateFiles files;
  TlsServerOptions options;
  options.cert_file = "/nowhere.pem";
  options.key_file = files.key;
  const auto no_cert = TlsServerContext::create(options);
  ASSERT_FALSE(no_cert);
  EXPECT_NE(no_cert.error().detail.find("/nowhere.pem"), std::string::npos);
  EXPECT_EQ(no_cert.error().source, ErrorSource::Config);
  options.cert_file = options.key_file = files.cert;
  EXPECT_FALSE(TlsServerContext::create(options));
}

}  // namespace
}  // namespace flamegate::proxy
