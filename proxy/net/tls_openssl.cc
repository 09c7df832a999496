#include "proxy/net/tls_openssl.h"

#include <openssl/err.h>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";

}  // namespace

std::string takeOpensslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown" : reason;
}

std::string alpnWire(const std::vector<std::string>& names) {
  std::string wire;
  for (const std::string& name : names) {
    wire.push_back(static_cast<char>(name.size()));
    wire += name;
  }
  return wire;
}

SslContextPtr makeTlsContext(const SSL_METHOD* method, bool allow_tls12) {
  SslContextPtr context(SSL_CTX_new(method));
  CHECK(context != nullptr);
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, allow_tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // The chain is what the file says: none is made up from the authorities. Idle connections hold no
  // buffers. Record and header come by one read.
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(raw, 1);
  const bool known = SSL_CTX_set_cipher_list(raw, kCiphers12) == 1 &&
                     SSL_CTX_set_ciphersuites(raw, kCiphers13) == 1 &&
                     SSL_CTX_set1_groups_list(raw, kGroups) == 1;
  CHECK(known);
  return context;
}

}  // namespace flamegate::proxy
