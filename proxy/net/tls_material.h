// What identities and authorities are made of, for the tls_*.cc files alone.
#pragma once

#include <array>
#include <ctime>
#include <string>
#include <vector>

#include "proxy/net/tls_identity.h"
#include "proxy/net/tls_openssl.h"

namespace flamegate::proxy {

struct TlsIdentity::Material {
  std::vector<CertificatePtr> chain;  // the leaf is the first
  KeyPtr key;
  std::string staple;       // DER; empty: none
  time_t staple_until = 0;  // Unix seconds; 0: without end
  std::vector<std::string> names;
  std::vector<TlsFileIssue> warnings;

  X509* leaf() const { return chain.front().get(); }
  int keyType() const { return EVP_PKEY_get_base_id(key.get()); }
  // Puts chain and key into a context, beside those of other key types. False: OpenSSL's queue says
  // why.
  bool addTo(SSL_CTX* context) const;
};

struct TlsAuthorities::Material {
  CertificateStorePtr store;
  std::vector<CertificatePtr> certificates;
  std::array<unsigned char, 32> digest{};  // SHA-256 of the certificates
};

// The DNS names among the subject's alternative names, in lower case.
std::vector<std::string> certificateDnsNames(X509* certificate);

}  // namespace flamegate::proxy
