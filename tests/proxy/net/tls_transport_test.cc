// Bytes through TLS, with ours as the server.
#include "tests/proxy/net/tls_pair.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

struct TlsTransportTest : TlsServerPair {
  // After a handshake.
  void establish(TlsServerOptions options = {}) {
    serve(std::move(options));
    open();
    ASSERT_TRUE(handshake());
  }
};

TEST_F(TlsTransportTest, CarriesDataBothWays) {
  establish();
  EXPECT_TRUE(connection->secure());
  EXPECT_EQ(SSL_write(peer_ssl, "hello", 5), 5);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 5u);
  EXPECT_EQ(buffer.view(), "hello");
  EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked);
  EXPECT_EQ(connection->write("answer").bytes, 6u);
  EXPECT_EQ(peerReads(), "answer");
}

TEST_F(TlsTransportTest, SendsSmallPiecesAsOneRecord) {
  establish();
  std::string head = "head ";
  std::string content(10'000, 'c');
  const iovec pieces[] = {
      {head.data(), head.size()}, {nullptr, 0}, {content.data(), content.size()}};
  EXPECT_EQ(connection->write(pieces).bytes, 10'005u);
  EXPECT_EQ(peerReads(), head + content);
}

// What is offered while the socket is full changes with the tempo of others, the bytes' order does
// not.
TEST_F(TlsTransportTest, KeepsTheOrderOfBytesWhateverIsOfferedAtATime) {
  establish();
  const int bytes = 8192;
  ::setsockopt(connection->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  std::string sent(700'000, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i % 251);
  std::string received;
  size_t written = 0;
  for (size_t turn = 0; received.size() < sent.size(); ++turn) {
    IoResult result;
    do {
      const size_t offer = std::min(sent.size() - written, turn * 7919 % 40'000 + 1);
      const iovec pieces[] = {{sent.data() + written, offer / 3},
                              {sent.data() + written + offer / 3, offer - offer / 3}};
      result = connection->write(pieces);
      ASSERT_NE(result.state, State::Failed);
      written += result.bytes;
      ++turn;
    } while (result.bytes > 0 && written < sent.size());
    for (std::string got = peerReads(); !got.empty(); got = peerReads()) received += got;
    loop->runOnce(false);
  }
  EXPECT_TRUE(received == sent);
}

TEST_F(TlsTransportTest, ReadsRecordsThatOneSystemCallBrought) {
  establish();
  for (int i = 0; i < 5; ++i) SSL_write(peer_ssl, "hello", 5);
  loop->runOnce(false);
  IoResult result;
  while ((result = connection->read(buffer, 1)).state == State::Done) {
  }
  EXPECT_EQ(result.state, State::Blocked);
  EXPECT_EQ(buffer.size(), 25u) << "no edge comes for records that OpenSSL has already taken in";
}

TEST_F(TlsTransportTest, TakesAnOrderlyEndForAnEnd) {
  establish();
  SSL_shutdown(peer_ssl);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof);
  EXPECT_EQ(transport().failure(), "");
  EXPECT_EQ(transport().fault(), TransportFault::None);
}

TEST_F(TlsTransportTest, TellsACloseWithoutCloseNotify) {
  establish();
  SSL_write(peer_ssl, "part", 4);
  ::shutdown(peer.get(), SHUT_WR);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 4u);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof);
  EXPECT_EQ(transport().failure(), "TLS: closed without close_notify");
  EXPECT_EQ(transport().fault(), TransportFault::Lost);
}

TEST_F(TlsTransportTest, SaysCloseNotifyBeforeItEnds) {
  establish();
  connection->write("last");
  connection->closeWrite();
  EXPECT_EQ(peerReads(), "last");
  char byte;
  EXPECT_EQ(SSL_read(peer_ssl, &byte, 1), 0);
  EXPECT_NE(SSL_get_shutdown(peer_ssl) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(TlsTransportTest, FailsOnClearText) {
  serve();
  open();
  sendSome(peer.get(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Failed);
  EXPECT_EQ(transport().failure(), "TLS: http request");
  EXPECT_EQ(transport().fault(), TransportFault::Protocol);
}

TEST_F(TlsTransportTest, AnswersKeyUpdates) {  // RFC 8446 §4.6.3
  establish();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(SSL_key_update(peer_ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_write(peer_ssl, "x", 1), 1);
    loop->runOnce(false);
    ASSERT_EQ(connection->read(buffer, 1).bytes, 1u);
    ASSERT_EQ(connection->write("y").bytes, 1u);
    ASSERT_EQ(peerReads(), "y");
  }
}

TEST_F(TlsTransportTest, EndsAConnectionThatBringsLittleButKeyUpdates) {
  establish();
  IoResult result;
  for (int i = 0; i < 1000 && result.state != State::Failed; ++i) {
    ASSERT_EQ(SSL_key_update(peer_ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(peer_ssl), 1);
    loop->runOnce(false);
    result = connection->read(buffer, 1);
  }
  EXPECT_EQ(result.state, State::Failed);
  EXPECT_EQ(transport().failure(), "TLS: too many key updates");
  EXPECT_TRUE(buffer.empty());
}

TEST_F(TlsTransportTest, DoesNotNegotiateAgain) {
  SSL_CTX_set_max_proto_version(peer_context, TLS1_2_VERSION);
  establish();
  SSL_renegotiate(peer_ssl);
  SSL_do_handshake(peer_ssl);
  loop->runOnce(false);
  EXPECT_NE(connection->read(buffer, 1).state, State::Done);
  EXPECT_NE(SSL_do_handshake(peer_ssl), 1);
}

}  // namespace
}  // namespace flamegate::proxy
