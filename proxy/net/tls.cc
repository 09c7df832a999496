#include "proxy/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

std::string opensslReason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "unknown";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

tl::unexpected<Error> tlsConfigError(const std::string& file) {
  return fail(ErrorCode::Io, ErrorSource::Config, file + ": " + opensslReason());
}

// What the socket BIO needs: the descriptor, and what is known of it.
struct SocketState {
  int fd;
  Readiness* ready;
};

SocketState& stateOf(BIO* bio) { return *static_cast<SocketState*>(BIO_get_data(bio)); }

int bioRead(BIO* bio, char* data, size_t size, size_t* got) {
  BIO_clear_retry_flags(bio);
  SocketState& state = stateOf(bio);
  const IoResult result = readSocket(state.fd, {data, size}, *state.ready);
  *got = result.bytes;
  if (result.state == IoResult::State::Blocked) BIO_set_retry_read(bio);
  if (result.state == IoResult::State::Eof) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  errno = result.error;
  return result.state == IoResult::State::Done ? 1 : 0;
}

int bioWrite(BIO* bio, const char* data, size_t size, size_t* sent) {
  BIO_clear_retry_flags(bio);
  SocketState& state = stateOf(bio);
  const iovec piece{const_cast<char*>(data), size};
  const IoResult result = writeSocket(state.fd, {&piece, 1}, *state.ready);
  *sent = result.bytes;
  if (result.state == IoResult::State::Blocked) BIO_set_retry_write(bio);
  errno = result.error;
  return result.state == IoResult::State::Done ? 1 : 0;
}

long bioControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

// A BIO over readSocket and writeSocket, so that a TLS connection makes no more system calls than a
// plain one.
BIO_METHOD* socketBio() {
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

// Owner: its connection's session. The handshake is driven by reading and writing.
class TlsTransport final : public Transport {
 public:
  TlsTransport(SSL* ssl, int fd, Readiness& ready) : ssl_(ssl), state_{fd, &ready} {
    BIO* bio = BIO_new(socketBio());
    CHECK(bio != nullptr);
    BIO_set_data(bio, &state_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
  }
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;
  ~TlsTransport() override { SSL_free(ssl_); }

  IoResult read(std::span<char> into) override {
    size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, into.data(), into.size(), &got);
    if (result == 1) return {IoResult::State::Done, 0, got};
    return failureOf(result);
  }

  IoResult write(std::span<const iovec> pieces) override {
    size_t total = 0;
    for (const iovec& piece : pieces) {
      if (piece.iov_len == 0) continue;
      size_t sent = 0;
      ERR_clear_error();
      const int result = SSL_write_ex(ssl_, piece.iov_base, piece.iov_len, &sent);
      if (result != 1) {
        if (total > 0) break;
        return failureOf(result);
      }
      total += sent;
      if (sent < piece.iov_len) break;
    }
    return {IoResult::State::Done, 0, total};
  }

  void closeWrite() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_) && !broken_) SSL_shutdown(ssl_);
  }

  std::string_view protocol() const override {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  bool handshakeDone() const override { return SSL_is_init_finished(ssl_) != 0; }
  std::string failure() const override { return failure_; }

 private:
  IoResult failureOf(int result) {
    const int system_error = errno;
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE: return {};
      case SSL_ERROR_ZERO_RETURN: return {IoResult::State::Eof, 0, 0};
      case SSL_ERROR_SYSCALL:
        broken_ = true;
        failure_ = "TLS: connection lost";
        return {IoResult::State::Failed, system_error, 0};
      default:
        broken_ = true;
        // A close without close_notify may cut a message short; framing decides what that means.
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
          ERR_clear_error();
          failure_ = "TLS: closed without close_notify";
          return {IoResult::State::Eof, 0, 0};
        }
        failure_ = "TLS: " + opensslReason();
        return {IoResult::State::Failed, 0, 0};
    }
  }

  SSL* ssl_;
  SocketState state_;
  bool broken_ = false;
  std::string failure_;
};

int selectAlpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
               unsigned in_size, void* argument) {
  const auto* ours = static_cast<const std::string*>(argument);
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(
      &chosen, out_size, reinterpret_cast<const unsigned char*>(ours->data()),
      static_cast<unsigned>(ours->size()), in, in_size);
  *out = chosen;
  // A client that offers only protocols we lack is refused (RFC 7301 §3.2).
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<std::unique_ptr<TlsServerContext>> TlsServerContext::create(
    const TlsServerOptions& options) {
  ERR_clear_error();
  std::unique_ptr<TlsServerContext> out(new TlsServerContext());
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  CHECK(context != nullptr);
  out->context_ = context;
  SSL_CTX_set_min_proto_version(context, options.allow_tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets carry the sessions
  SSL_CTX_set_num_tickets(context, 1);
  if (SSL_CTX_set_cipher_list(context,
                              "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                              "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                              "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305") != 1) {
    return tlsConfigError("cipher list");
  }
  if (SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1) {
    return tlsConfigError(options.cert_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return tlsConfigError(options.key_file);
  }
  for (const std::string& name : options.alpn) {
    out->alpn_wire_.push_back(static_cast<char>(name.size()));
    out->alpn_wire_ += name;
  }
  if (!out->alpn_wire_.empty()) {
    SSL_CTX_set_alpn_select_cb(context, selectAlpn, &out->alpn_wire_);
  }
  return out;
}

TlsServerContext::~TlsServerContext() { SSL_CTX_free(context_); }

std::unique_ptr<Transport> TlsServerContext::accept(int fd, Readiness& ready) const {
  SSL* ssl = SSL_new(context_);
  CHECK(ssl != nullptr);
  SSL_set_accept_state(ssl);
  return std::make_unique<TlsTransport>(ssl, fd, ready);
}

}  // namespace flamegate::proxy
