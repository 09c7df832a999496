// TLS by OpenSSL 3: the server's side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/base/result.h"
#include "proxy/net/transport.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace flamegate::proxy {

struct TlsServerOptions {
  std::string cert_file;  // PEM chain, leaf first
  std::string key_file;   // PEM
  bool allow_tls12 = true;
  std::vector<std::string> alpn;  // in order of preference
};

// Certificates, key and settings of a listener; immutable and shared by the workers.
// Owner: a Snapshot. Thread: any, OpenSSL counts references itself.
class TlsServerContext {
 public:
  // Errors: Config with the file's name and OpenSSL's reason.
  static Result<std::unique_ptr<TlsServerContext>> create(const TlsServerOptions& options);
  ~TlsServerContext();

  // A transport for an accepted socket; the handshake runs inside its first reads and writes.
  // `ready` belongs to the same connection and outlives the transport.
  std::unique_ptr<Transport> accept(int fd, Readiness& ready) const;

 private:
  TlsServerContext() = default;
  SSL_CTX* context_ = nullptr;
  std::string alpn_wire_;  // RFC 7301 §3.1: length-prefixed names
};

}  // namespace flamegate::proxy
