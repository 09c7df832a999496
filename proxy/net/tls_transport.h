// Bytes of a connection through OpenSSL, for either side; for the tls_*.cc files alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/net/tls_openssl.h"
#include "proxy/net/transport.h"

namespace flamegate::proxy {

// Owner: its Connection. The handshake is driven by reading and writing. An idle one holds no
// buffer; one whose peer does not read holds a record of up to 16 KiB and its encrypted form.
class TlsTransport : public Transport {
 public:
  // Takes `ssl` over, in accept or connect state. `keep_alive` holds what the callbacks of its
  // context use.
  TlsTransport(SSL* ssl, int fd, Readiness& ready, std::shared_ptr<const void> keep_alive);
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;
  ~TlsTransport() override;

  IoResult read(std::span<char> into) override;
  IoResult write(std::span<const iovec> pieces) override;
  void closeWrite() override;
  std::string_view protocol() const override;
  bool handshakeDone() const override { return SSL_is_init_finished(ssl_) != 0; }
  std::string failure() const override { return failure_; }
  TransportFault fault() const override { return fault_; }
  std::span<const std::string> peerNames() const override;
  bool isMisdirected(std::string_view) const override { return false; }

  // Lets the context's handshakes and key updates be counted. Once a context.
  static void observe(SSL_CTX* context);

 protected:
  SSL* ssl() const { return ssl_; }

 private:
  // What the socket BIO needs: the descriptor, and what is known of it.
  struct Socket {
    int fd;
    Readiness* ready;
    bool refused = false;  // nothing more is read
  };
  static Socket& socketOf(BIO* bio);
  static int bioRead(BIO* bio, char* data, size_t size, size_t* got);
  static int bioWrite(BIO* bio, const char* data, size_t size, size_t* sent);
  static BIO_METHOD* socketBio();
  static void onInfo(const SSL* ssl, int where, int);

  bool writeBlock(std::string_view block, size_t& sent, IoResult& failure);
  IoResult failureOf(int result);
  IoResult failed(TransportFault fault, int error, std::string why);
  std::string verifyFailure() const;
  void countKeyUpdate();

  std::shared_ptr<const void> keep_alive_;
  SSL* ssl_;
  Socket socket_;
  // A block that OpenSSL has begun to send: it wants the same bytes again until they are out.
  std::string stuck_;
  size_t ahead_ = 0;  // bytes that went out with it, but have not been offered again yet
  uint64_t received_ = 0;
  uint32_t key_updates_ = 0;
  bool broken_ = false;
  TransportFault fault_ = TransportFault::None;
  std::string failure_;
  mutable std::optional<std::vector<std::string>> peer_names_;  // once they were asked for
};

}  // namespace flamegate::proxy
