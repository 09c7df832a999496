// Certificates that tests make for themselves, as files in a folder that goes with them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "proxy/net/tls_identity.h"

namespace flamegate::proxy {

enum class KeyKind { Ec, Rsa, WeakRsa };

// A certificate with its key, in memory.
class TestCertificate {
 public:
  struct Options {
    std::vector<std::string> names = {};  // DNS names; "IP:…" for an address
    std::string common_name = "test";
    KeyKind key = KeyKind::Ec;
    long valid_from = -60;  // seconds from now
    long valid_until = 3600;
    bool authority = false;
  };

  // Self-signed without an issuer.
  explicit TestCertificate(const Options& options, const TestCertificate* issuer = nullptr)
      : key_(makeKey(options.key), EVP_PKEY_free), x509_(X509_new(), X509_free) {
    static long serial = 1;
    X509_set_version(x509(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x509()), options.valid_from);
    X509_gmtime_adj(X509_getm_notAfter(x509()), options.valid_until);
    X509_set_pubkey(x509(), key());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(options.common_name.c_str()),
                               -1, -1, 0);
    const TestCertificate& by = issuer == nullptr ? *this : *issuer;
    X509_set_issuer_name(x509(), X509_get_subject_name(by.x509()));
    if (options.authority) addExtension(NID_basic_constraints, "critical,CA:TRUE");
    if (!options.names.empty()) addExtension(NID_subject_alt_name, sanOf(options.names));
    EXPECT_GT(X509_sign(x509(), by.key(), EVP_sha256()), 0);
  }

  X509* x509() const { return x509_.get(); }
  EVP_PKEY* key() const { return key_.get(); }

  std::string pem() const {
    return textOf([this](BIO* bio) { return PEM_write_bio_X509(bio, x509()); });
  }
  std::string keyPem(const char* password = nullptr) const {
    return textOf([&](BIO* bio) {
      return PEM_write_bio_PrivateKey(bio, key(), password == nullptr ? nullptr : EVP_aes_128_cbc(),
                                      nullptr, 0, nullptr, const_cast<char*>(password));
    });
  }

  // The authority's answer about one of its certificates, in DER.
  std::string ocspFor(const TestCertificate& leaf, long from, long until) const {
    OCSP_BASICRESP* basic = OCSP_BASICRESP_new();
    OCSP_CERTID* id = OCSP_cert_to_id(nullptr, leaf.x509(), x509());
    ASN1_TIME* this_update = X509_gmtime_adj(nullptr, from);
    ASN1_TIME* next_update = X509_gmtime_adj(nullptr, until);
    OCSP_basic_add1_status(basic, id, V_OCSP_CERTSTATUS_GOOD, 0, nullptr, this_update, next_update);
    OCSP_basic_sign(basic, x509(), key(), EVP_sha256(), nullptr, 0);
    OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    unsigned char* der = nullptr;
    const int size = i2d_OCSP_RESPONSE(response, &der);
    const std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    OCSP_RESPONSE_free(response);
    ASN1_TIME_free(this_update);
    ASN1_TIME_free(next_update);
    OCSP_CERTID_free(id);
    OCSP_BASICRESP_free(basic);
    return text;
  }

 private:
  static EVP_PKEY* makeKey(KeyKind kind) {
    if (kind == KeyKind::Ec) return EVP_EC_gen("P-256");
    return EVP_RSA_gen(kind == KeyKind::Rsa ? 2048U : 1024U);
  }

  static std::string sanOf(const std::vector<std::string>& names) {
    std::string san;
    for (const std::string& name : names) {
      if (!san.empty()) san += ",";
      san += name.starts_with("IP:") ? name : "DNS:" + name;
    }
    return san;
  }

  void addExtension(int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(x509(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  template <typename Write>
  static std::string textOf(Write write) {
    BIO* bio = BIO_new(BIO_s_mem());
    EXPECT_EQ(write(bio), 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(size));
    BIO_free(bio);
    return text;
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> x509_;
};

// A folder for one test's files.
class CertificateFolder {
 public:
  CertificateFolder() {
    std::string path = testing::TempDir() + "flamegate-tls-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~CertificateFolder() { std::filesystem::remove_all(path_); }
  CertificateFolder(const CertificateFolder&) = delete;
  CertificateFolder& operator=(const CertificateFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  // NAME.pem and NAME.key.
  TlsIdentityFiles write(const std::string& name, const TestCertificate& certificate,
                         const std::vector<const TestCertificate*>& chain = {}) const {
    std::string pem = certificate.pem();
    for (const TestCertificate* next : chain) pem += next->pem();
    return {write(name + ".pem", pem), write(name + ".key", certificate.keyPem()), ""};
  }

  // The identity of a certificate for these names.
  std::shared_ptr<const TlsIdentity> identity(
      const TestCertificate& certificate, const std::vector<const TestCertificate*>& chain = {}) {
    const auto loaded =
        TlsIdentity::load(write("identity" + std::to_string(++count_), certificate, chain));
    EXPECT_TRUE(loaded) << loaded.error().what;
    return loaded.value_or(nullptr);
  }
  std::shared_ptr<const TlsIdentity> identity(const std::vector<std::string>& names,
                                              KeyKind key = KeyKind::Ec) {
    return identity(TestCertificate({.names = names, .key = key}));
  }

 private:
  std::string path_;
  int count_ = 0;
};

}  // namespace flamegate::proxy
