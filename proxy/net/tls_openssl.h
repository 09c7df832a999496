// Owning pointers and errors of OpenSSL, for the tls_*.cc files alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ocsp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace flamegate::proxy {

template <auto kFree>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, OpensslFree<X509_free>>;
using CertificateStorePtr = std::unique_ptr<X509_STORE, OpensslFree<X509_STORE_free>>;
using OcspResponsePtr = std::unique_ptr<OCSP_RESPONSE, OpensslFree<OCSP_RESPONSE_free>>;
using OcspBasicPtr = std::unique_ptr<OCSP_BASICRESP, OpensslFree<OCSP_BASICRESP_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, OpensslFree<SSL_SESSION_free>>;

// OpenSSL's reason for the last failure of this thread, in its words; empties its queue.
std::string takeOpensslReason();

// What both sides of TLS share: versions, ciphers, groups and modes, as Mozilla's "intermediate"
// recommendation has them, less finite-field Diffie-Hellman, whose handshakes cost a server far
// more than a client (CVE-2002-20001).
SslContextPtr makeTlsContext(const SSL_METHOD* method, bool allow_tls12);

// Names of protocols as ALPN has them: each behind its length (RFC 7301 §3.1).
std::string alpnWire(const std::vector<std::string>& names);

}  // namespace flamegate::proxy
