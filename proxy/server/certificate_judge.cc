#include "proxy/server/certificate_judge.h"

#include "proxy/net/tls_identity.h"

namespace flamegate::proxy {
namespace {

std::string keyOf(TlsFileIssue::File file) {
  switch (file) {
    case TlsFileIssue::File::Key:
      return "key";
    case TlsFileIssue::File::Ocsp:
      return "ocsp";
    case TlsFileIssue::File::Cert:
      break;
  }
  return "cert";
}

std::vector<config::CertificateIssue> judgeCertificate(const config::ServerCertificate& files) {
  const auto loaded = TlsIdentity::load({files.cert, files.key, files.ocsp.value_or("")});
  if (!loaded) return {{keyOf(loaded.error().file), loaded.error().what, true}};
  std::vector<config::CertificateIssue> issues;
  for (const TlsFileIssue& warning : (*loaded)->warnings()) {
    issues.push_back({keyOf(warning.file), warning.what, false});
  }
  return issues;
}

std::optional<std::string> judgeAuthorities(const std::string& file) {
  const auto loaded = TlsAuthorities::load(file);
  return loaded ? std::nullopt : std::optional(loaded.error().detail);
}

}  // namespace

config::CertificateJudge certificateJudge() { return {judgeCertificate, judgeAuthorities}; }

}  // namespace flamegate::proxy
