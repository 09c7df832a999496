#include "proxy/net/tls_identity.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"
#include "proxy/net/tls_material.h"

namespace flamegate::proxy {
namespace {

using File = TlsFileIssue::File;
using Material = TlsIdentity::Material;
// Nothing, or why the file cannot be used.
using Problem = std::optional<std::string>;

// Room for clocks that are not quite the same (RFC 6960 §4.2.2.1 leaves it to the receiver).
constexpr long kStapleSkewSeconds = 300;

// A PEM file that cannot be opened, as a reason; `bio` otherwise.
Problem openFile(const std::string& file, BioPtr& bio) {
  errno = 0;
  bio.reset(BIO_new_file(file.c_str(), "r"));
  if (bio != nullptr) return std::nullopt;
  ERR_clear_error();
  return std::string("cannot be read: ") + std::strerror(errno);
}

Problem readCertificates(const std::string& file, std::vector<CertificatePtr>& chain) {
  BioPtr bio;
  if (auto problem = openFile(file, bio)) return problem;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    chain.emplace_back(next);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = takeOpensslReason();
  if (!at_end)
    return "cannot be understood after certificate " + std::to_string(chain.size()) + ": " + reason;
  if (chain.empty()) return "holds no certificate in PEM form";
  return std::nullopt;
}

// Tells that the key is encrypted, rather than ask a terminal for its password.
int refusePassword(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Problem readKey(const std::string& file, KeyPtr& key) {
  BioPtr bio;
  if (auto problem = openFile(file, bio)) return problem;
  bool encrypted = false;
  key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, refusePassword, &encrypted));
  const std::string reason = takeOpensslReason();
  if (encrypted) return "is encrypted; keys are read without a password";
  if (key == nullptr) return "holds no private key in PEM form: " + reason;
  return std::nullopt;
}

bool belongTogether(X509* certificate, EVP_PKEY* key) {
  const bool match = X509_check_private_key(certificate, key) == 1;
  ERR_clear_error();
  return match;
}

std::optional<TlsFileIssue> checkPair(const Material& material) {
  if (belongTogether(material.leaf(), material.key.get())) return std::nullopt;
  for (size_t i = 1; i < material.chain.size(); ++i) {
    if (!belongTogether(material.chain[i].get(), material.key.get())) continue;
    return TlsFileIssue{
        File::Cert, "must begin with the certificate that the key belongs to, which is number " +
                        std::to_string(i + 1)};
  }
  return TlsFileIssue{File::Key, "does not belong to the certificate"};
}

void warnOfDates(Material& material) {
  X509* leaf = material.leaf();
  if (X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0) {
    material.warnings.push_back({File::Cert, "has expired"});
  } else if (X509_cmp_current_time(X509_get0_notBefore(leaf)) > 0) {
    material.warnings.push_back({File::Cert, "is not valid yet"});
  }
}

// RFC 5246 §7.4.2: each certificate certifies the one before it. Newer clients sort by themselves
// (RFC 8446 §4.4.2), so that this does not keep a site from being served.
void warnOfOrder(Material& material) {
  for (size_t i = 0; i + 1 < material.chain.size(); ++i) {
    if (X509_check_issued(material.chain[i + 1].get(), material.chain[i].get()) == X509_V_OK)
      continue;
    material.warnings.push_back({File::Cert, "is out of order: certificate " +
                                                 std::to_string(i + 2) +
                                                 " has not issued the one before it"});
    return;
  }
}

std::string lowerText(const ASN1_STRING* text) {
  std::string out(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                  static_cast<size_t>(ASN1_STRING_length(text)));
  std::transform(out.begin(), out.end(), out.begin(), toLowerAscii);
  return out;
}

bool isPlainName(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string commonName(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  return lowerText(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

bool coversBy(std::string_view name, std::string_view host) {
  if (name == host) return true;
  if (!name.starts_with("*.")) return false;
  const size_t dot = host.find('.');
  return dot != std::string_view::npos && dot > 0 && name.substr(1) == host.substr(dot);
}

// ---- Stapling -----------------------------------------------------------------------------------

Problem readStaple(const std::string& file, std::string& staple) {
  BioPtr bio;
  if (auto problem = openFile(file, bio)) return problem;
  char block[4096];
  int got;
  while ((got = BIO_read(bio.get(), block, sizeof block)) > 0)
    staple.append(block, static_cast<size_t>(got));
  return std::nullopt;
}

// What a response says of the leaf, or null. Without its issuer in the chain the serial number must
// do.
OCSP_SINGLERESP* findAnswer(OCSP_BASICRESP* basic, const Material& material) {
  X509* issuer = material.chain.size() > 1 ? material.chain[1].get() : nullptr;
  for (int i = 0; i < OCSP_resp_count(basic); ++i) {
    OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
    const OCSP_CERTID* id = OCSP_SINGLERESP_get0_id(single);
    ASN1_OBJECT* digest = nullptr;
    ASN1_INTEGER* serial = nullptr;
    OCSP_id_get0_info(nullptr, &digest, nullptr, &serial, const_cast<OCSP_CERTID*>(id));
    if (ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(material.leaf())) != 0) continue;
    if (issuer == nullptr) return single;
    OCSP_CERTID* expected = OCSP_cert_to_id(EVP_get_digestbyobj(digest), material.leaf(), issuer);
    const bool same = expected != nullptr && OCSP_id_cmp(expected, id) == 0;
    OCSP_CERTID_free(expected);
    if (same) return single;
  }
  return nullptr;
}

time_t toUnix(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

Problem useStaple(std::string der, Material& material) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const OcspResponsePtr response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
  if (response == nullptr) return "is no OCSP response in DER form: " + takeOpensslReason();
  const int status = OCSP_response_status(response.get());
  if (status != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    return std::string("is an OCSP response without an answer: ") +
           OCSP_response_status_str(status);
  }
  const OcspBasicPtr basic(OCSP_response_get1_basic(response.get()));
  OCSP_SINGLERESP* single = basic == nullptr ? nullptr : findAnswer(basic.get(), material);
  ERR_clear_error();
  if (single == nullptr) return "is an OCSP response for another certificate";
  ASN1_GENERALIZEDTIME* from = nullptr;
  ASN1_GENERALIZEDTIME* until = nullptr;
  OCSP_single_get0_status(single, nullptr, nullptr, &from, &until);
  if (OCSP_check_validity(from, until, kStapleSkewSeconds, -1) != 1) {
    material.warnings.push_back(
        {File::Ocsp, "is out of date, so that nothing is stapled: " + takeOpensslReason()});
    return std::nullopt;
  }
  material.staple_until = until == nullptr ? 0 : toUnix(until);
  material.staple = std::move(der);
  return std::nullopt;
}

Problem loadStaple(const std::string& file, Material& material) {
  std::string der;
  if (auto problem = readStaple(file, der)) return problem;
  return useStaple(std::move(der), material);
}

// What only OpenSSL's own rules tell, such as the least length of keys.
Problem tryInContext(const Material& material) {
  const SslContextPtr scratch(SSL_CTX_new(TLS_server_method()));
  CHECK(scratch != nullptr);
  if (material.addTo(scratch.get())) return std::nullopt;
  return "cannot be used: " + takeOpensslReason();
}

std::vector<std::string> dnsNames(X509* certificate) {
  std::vector<std::string> names = certificateDnsNames(certificate);
  if (names.empty()) {
    const std::string common = commonName(certificate);
    if (isPlainName(common)) names.push_back(common);
  }
  return names;
}

}  // namespace

// ---- Identities ---------------------------------------------------------------------------------

std::vector<std::string> certificateDnsNames(X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    std::string text = lowerText(name->d.dNSName);
    // A NUL inside has been used to show one name to an authority and another to software.
    if (isPlainName(text)) names.push_back(std::move(text));
  }
  GENERAL_NAMES_free(all);
  return names;
}

bool Material::addTo(SSL_CTX* context) const {
  STACK_OF(X509)* others = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(others, chain[i].get());
  const bool added = SSL_CTX_use_cert_and_key(context, leaf(), key.get(), others, 1) == 1;
  sk_X509_free(others);
  return added;
}

TlsIdentity::TlsIdentity(std::unique_ptr<Material> material) : material_(std::move(material)) {}
TlsIdentity::~TlsIdentity() = default;

const std::vector<std::string>& TlsIdentity::names() const { return material_->names; }
const std::vector<TlsFileIssue>& TlsIdentity::warnings() const { return material_->warnings; }

int64_t TlsIdentity::expiresAt() const { return toUnix(X509_get0_notAfter(material_->leaf())); }

bool TlsIdentity::covers(std::string_view host) const {
  return std::any_of(material_->names.begin(), material_->names.end(),
                     [host](const std::string& name) { return coversBy(name, host); });
}

TlsIdentity::Loading TlsIdentity::load(const TlsIdentityFiles& files) {
  ERR_clear_error();
  auto material = std::make_unique<Material>();
  const auto refused = [](File file, std::string what) {
    return tl::unexpected(TlsFileIssue{file, std::move(what)});
  };
  if (auto problem = readCertificates(files.cert, material->chain))
    return refused(File::Cert, *problem);
  if (auto problem = readKey(files.key, material->key)) return refused(File::Key, *problem);
  if (auto issue = checkPair(*material)) return tl::unexpected(std::move(*issue));
  if (auto problem = tryInContext(*material)) return refused(File::Cert, *problem);
  warnOfDates(*material);
  warnOfOrder(*material);
  material->names = dnsNames(material->leaf());
  if (!files.ocsp.empty()) {
    if (auto problem = loadStaple(files.ocsp, *material)) return refused(File::Ocsp, *problem);
  }
  return std::shared_ptr<const TlsIdentity>(new TlsIdentity(std::move(material)));
}

const std::string& fileOf(const TlsFileIssue& issue, const TlsIdentityFiles& files) {
  switch (issue.file) {
    case File::Key:
      return files.key;
    case File::Ocsp:
      return files.ocsp;
    case File::Cert:
      break;
  }
  return files.cert;
}

Error toError(const TlsFileIssue& issue, const TlsIdentityFiles& files) {
  return {ErrorCode::Io, ErrorSource::Config, Retry::No, fileOf(issue, files) + " " + issue.what};
}

// ---- Authorities --------------------------------------------------------------------------------

TlsAuthorities::TlsAuthorities(std::unique_ptr<Material> material)
    : material_(std::move(material)) {}
TlsAuthorities::~TlsAuthorities() = default;

Result<std::shared_ptr<const TlsAuthorities>> TlsAuthorities::load(const std::string& file) {
  ERR_clear_error();
  auto material = std::make_unique<Material>();
  if (auto problem = readCertificates(file, material->certificates)) {
    return fail(ErrorCode::Io, ErrorSource::Config, file + " " + *problem);
  }
  material->store.reset(X509_STORE_new());
  CHECK(material->store != nullptr);
  const std::unique_ptr<EVP_MD_CTX, OpensslFree<EVP_MD_CTX_free>> hash(EVP_MD_CTX_new());
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  for (const CertificatePtr& certificate : material->certificates) {
    X509_STORE_add_cert(material->store.get(), certificate.get());
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    X509_digest(certificate.get(), EVP_sha256(), digest, &size);
    EVP_DigestUpdate(hash.get(), digest, size);
  }
  EVP_DigestFinal_ex(hash.get(), material->digest.data(), nullptr);
  return std::shared_ptr<const TlsAuthorities>(new TlsAuthorities(std::move(material)));
}

}  // namespace flamegate::proxy
