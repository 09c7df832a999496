#include "proxy/net/tls_transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <openssl/err.h>

#include "proxy/base/check.h"
#include "proxy/net/tls_material.h"

namespace flamegate::proxy {
namespace {

// The content of a full record (RFC 8446 §5.1).
constexpr size_t kRecordBytesMax = 16 * 1024;
// New keys are due every few gigabytes (RFC 8446 §5.5); who asks for them all the time wants our
// CPU.
constexpr uint32_t kKeyUpdatesMax = 32;
constexpr uint64_t kBytesPerKeyUpdate = 64 * 1024;

long bioControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

// Goes over the pieces of a write in blocks of a record's size.
class Blocks {
 public:
  explicit Blocks(std::span<const iovec> pieces) : pieces_(pieces) { skipEmpty(); }

  bool done() const { return pieces_.empty(); }

  // The next block; small pieces are brought together, so that they leave as one record by one
  // call. Valid until the next call.
  std::string_view next() const {
    const std::string_view first = rest();
    if (first.size() >= kRecordBytesMax || pieces_.size() == 1) {
      return first.substr(0, kRecordBytesMax);
    }
    thread_local char gathered[kRecordBytesMax];
    size_t size = 0;
    size_t at = at_;
    for (const iovec& piece : pieces_) {
      const size_t count = std::min(piece.iov_len - at, kRecordBytesMax - size);
      std::memcpy(gathered + size, static_cast<const char*>(piece.iov_base) + at, count);
      size += count;
      at = 0;
      if (size == kRecordBytesMax) break;
    }
    return {gathered, size};
  }

  // Goes on by up to `bytes`; how far.
  size_t skip(size_t bytes) {
    size_t skipped = 0;
    while (skipped < bytes && !done()) {
      const size_t count = std::min(bytes - skipped, rest().size());
      at_ += count;
      skipped += count;
      skipEmpty();
    }
    return skipped;
  }

 private:
  std::string_view rest() const {
    const iovec& piece = pieces_.front();
    return {static_cast<const char*>(piece.iov_base) + at_, piece.iov_len - at_};
  }
  void skipEmpty() {
    while (!pieces_.empty() && at_ == pieces_.front().iov_len) {
      pieces_ = pieces_.subspan(1);
      at_ = 0;
    }
  }

  std::span<const iovec> pieces_;
  size_t at_ = 0;  // in the first piece
};

}  // namespace

// ---- The socket ---------------------------------------------------------------------------------

TlsTransport::Socket& TlsTransport::socketOf(BIO* bio) {
  return *static_cast<Socket*>(BIO_get_data(bio));
}

int TlsTransport::bioRead(BIO* bio, char* data, size_t size, size_t* got) {
  BIO_clear_retry_flags(bio);
  *got = 0;
  Socket& socket = socketOf(bio);
  if (socket.refused) return 0;
  const IoResult result = readSocket(socket.fd, {data, size}, *socket.ready);
  *got = result.bytes;
  if (result.state == IoResult::State::Blocked) BIO_set_retry_read(bio);
  if (result.state == IoResult::State::Eof) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  errno = result.error;
  return result.state == IoResult::State::Done ? 1 : 0;
}

int TlsTransport::bioWrite(BIO* bio, const char* data, size_t size, size_t* sent) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socketOf(bio);
  const iovec piece{const_cast<char*>(data), size};
  const IoResult result = writeSocket(socket.fd, {&piece, 1}, *socket.ready);
  *sent = result.bytes;
  if (result.state == IoResult::State::Blocked) BIO_set_retry_write(bio);
  errno = result.error;
  return result.state == IoResult::State::Done ? 1 : 0;
}

// A BIO over readSocket and writeSocket, so that a TLS connection makes no more system calls than a
// plain one.
BIO_METHOD* TlsTransport::socketBio() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "flamegate socket");
    CHECK(made != nullptr);
    BIO_meth_set_read_ex(made, bioRead);
    BIO_meth_set_write_ex(made, bioWrite);
    BIO_meth_set_ctrl(made, bioControl);
    return made;
  }();
  return method;
}

// ---- The connection -----------------------------------------------------------------------------

TlsTransport::TlsTransport(SSL* ssl, int fd, Readiness& ready,
                           std::shared_ptr<const void> keep_alive)
    : keep_alive_(std::move(keep_alive)), ssl_(ssl), socket_{fd, &ready} {
  BIO* bio = BIO_new(socketBio());
  CHECK(bio != nullptr);
  BIO_set_data(bio, &socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
}

// OpenSSL gives a session up whose connection ends without close_notify, which has not been asked
// for since TLS 1.1 (RFC 5246 §7.2.1).
TlsTransport::~TlsTransport() {
  if (!broken_) SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(ssl_);
}

IoResult TlsTransport::read(std::span<char> into) {
  size_t got = 0;
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_, into.data(), into.size(), &got);
  if (result != 1) return failureOf(result);
  received_ += got;
  return {IoResult::State::Done, 0, got};
}

IoResult TlsTransport::write(std::span<const iovec> pieces) {
  Blocks blocks(pieces);
  size_t total = blocks.skip(ahead_);
  ahead_ -= total;
  while (!blocks.done()) {
    IoResult failure;
    size_t sent = 0;
    if (!writeBlock(blocks.next(), sent, failure)) {
      if (total > 0) break;
      return failure;
    }
    const size_t offered = blocks.skip(sent);
    ahead_ = sent - offered;
    total += offered;
  }
  return {IoResult::State::Done, 0, total};
}

// What was once begun is sent to its end first, even if the caller now offers less at a time.
bool TlsTransport::writeBlock(std::string_view block, size_t& sent, IoResult& failure) {
  const std::string_view bytes = stuck_.empty() ? block : std::string_view(stuck_);
  ERR_clear_error();
  const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
  if (result == 1) {
    std::string().swap(stuck_);
    return true;
  }
  failure = failureOf(result);
  if (failure.state == IoResult::State::Blocked && stuck_.empty() && handshakeDone())
    stuck_ = block;
  return false;
}

void TlsTransport::closeWrite() {
  ERR_clear_error();
  if (handshakeDone() && !broken_) SSL_shutdown(ssl_);
}

std::string_view TlsTransport::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::span<const std::string> TlsTransport::peerNames() const {
  if (!handshakeDone()) return {};
  if (!peer_names_) {
    X509* certificate = SSL_get0_peer_certificate(ssl_);
    const bool verified = certificate != nullptr && SSL_get_verify_result(ssl_) == X509_V_OK;
    peer_names_ = verified ? certificateDnsNames(certificate) : std::vector<std::string>();
  }
  return *peer_names_;
}

// ---- Failures -----------------------------------------------------------------------------------

IoResult TlsTransport::failureOf(int result) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {};
    case SSL_ERROR_ZERO_RETURN:
      return {IoResult::State::Eof, 0, 0};
    case SSL_ERROR_SYSCALL:
      if (socket_.refused) return failed(TransportFault::Protocol, 0, "TLS: too many key updates");
      return failed(TransportFault::Lost, system_error, "TLS: connection lost");
    default:
      break;
  }
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    failed(TransportFault::Lost, 0,
           SSL_get_state(ssl_) == TLS_ST_OK ? "TLS: closed without close_notify"
                                            : "TLS: closed during the handshake");
    // A close without close_notify may cut a message short; framing decides what that means.
    return {IoResult::State::Eof, 0, 0};
  }
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    ERR_clear_error();
    return failed(TransportFault::Untrusted, 0, verifyFailure());
  }
  return failed(TransportFault::Protocol, 0, "TLS: " + takeOpensslReason());
}

IoResult TlsTransport::failed(TransportFault fault, int error, std::string why) {
  broken_ = true;
  fault_ = fault;
  failure_ = std::move(why);
  return {IoResult::State::Failed, error, 0};
}

std::string TlsTransport::verifyFailure() const {
  return std::string("TLS: the certificate was not accepted: ") +
         X509_verify_cert_error_string(SSL_get_verify_result(ssl_));
}

// ---- Key updates --------------------------------------------------------------------------------

void TlsTransport::observe(SSL_CTX* context) { SSL_CTX_set_info_callback(context, onInfo); }

void TlsTransport::onInfo(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_LOOP) == 0) return;
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
  if (state != TLS_ST_SR_KEY_UPDATE && state != TLS_ST_CR_KEY_UPDATE) return;
  static_cast<TlsTransport*>(SSL_get_app_data(ssl))->countKeyUpdate();
}

// OpenSSL answers key updates inside a read for as long as they come, so that the read has to be
// ended from below.
void TlsTransport::countKeyUpdate() {
  if (++key_updates_ > kKeyUpdatesMax + received_ / kBytesPerKeyUpdate) socket_.refused = true;
}

}  // namespace flamegate::proxy
