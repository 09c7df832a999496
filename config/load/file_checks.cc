#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "config/load/checks.h"

namespace flamegate::config {
namespace {

constexpr size_t kSecretBytesMin = 32;

enum class Secrecy : unsigned char { Public, Secret };

// Looks at the files one by one.
class FileCheck {
 public:
  FileCheck(const CertificateJudge& judge, Findings& findings)
      : judge_(judge), findings_(findings) {}

  // False: a fault was found.
  bool mustBeReadable(const std::string& file, const std::string& path, Secrecy secrecy) {
    std::ifstream stream(file);
    struct stat status {};
    if (!stream.is_open() || ::stat(file.c_str(), &status) != 0) {
      findings_.fault(path, "cannot read " + inQuotes(file) + ": " + std::strerror(errno));
      return false;
    }
    if (S_ISDIR(status.st_mode)) {
      findings_.fault(path, inQuotes(file) + " is a directory");
      return false;
    }
    if (secrecy == Secrecy::Secret && (status.st_mode & S_IRWXO) != 0) {
      findings_.warn(path, inQuotes(file) + " is secret, but everybody may open it");
    }
    return true;
  }

  void checkCertificate(const ServerCertificate& files, const std::string& path) {
    bool readable = mustBeReadable(files.cert, joinPath(path, "cert"), Secrecy::Public);
    readable = mustBeReadable(files.key, joinPath(path, "key"), Secrecy::Secret) && readable;
    if (files.ocsp) {
      readable = mustBeReadable(*files.ocsp, joinPath(path, "ocsp"), Secrecy::Public) && readable;
    }
    if (!readable || !judge_.certificate) return;
    for (const CertificateIssue& issue : judge_.certificate(files)) {
      const std::string& file =
          issue.key == "key" ? files.key : issue.key == "ocsp" ? *files.ocsp : files.cert;
      const std::string message = inQuotes(file) + " " + issue.what;
      if (issue.fatal) {
        findings_.fault(joinPath(path, issue.key), message);
      } else {
        findings_.warn(joinPath(path, issue.key), message);
      }
    }
  }

  void checkAuthorities(const std::string& file, const std::string& path) {
    if (!mustBeReadable(file, path, Secrecy::Public) || !judge_.authorities) return;
    if (const auto problem = judge_.authorities(file)) findings_.fault(path, *problem);
  }

  // A secret that is made on the first run may be absent.
  void checkSecret(const std::string& file, const std::string& path, bool made_when_absent) {
    if (made_when_absent && !std::filesystem::exists(std::filesystem::status(file, ignored_))) {
      checkDirectoryOf(file, path);
      return;
    }
    mustBeReadable(file, path, Secrecy::Secret);
    std::ifstream stream(file);
    if (stream.is_open() && secretBytes(stream) < kSecretBytesMin) {
      findings_.fault(path, inQuotes(file) + " must hold a secret of at least " +
                                std::to_string(kSecretBytesMin) + " bytes");
    }
  }

  void checkDirectoryOf(const std::string& file, const std::string& path) {
    const auto directory = std::filesystem::path(file).parent_path();
    if (directory.empty() || std::filesystem::is_directory(directory, ignored_)) return;
    findings_.fault(path, "the directory " + inQuotes(directory.string()) + " does not exist");
  }

 private:
  // The first line is enough to judge; the secret is the text less one final line end.
  static size_t secretBytes(std::ifstream& stream) {
    std::string begin(kSecretBytesMin + 2, '\0');
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(stream.gcount()));
    if (!begin.empty() && begin.back() == '\n') begin.pop_back();
    if (!begin.empty() && begin.back() == '\r') begin.pop_back();
    return begin.size();
  }

  const CertificateJudge& judge_;
  Findings& findings_;
  std::error_code ignored_;
};

void checkTls(const ListenerTls& tls, const std::string& path, FileCheck& files) {
  for (size_t i = 0; i < tls.certificates.size(); ++i) {
    files.checkCertificate(tls.certificates[i], indexPath(joinPath(path, "certificates"), i));
  }
  if (tls.client_ca) files.checkAuthorities(*tls.client_ca, joinPath(path, "client_ca"));
}

void checkCluster(const Cluster& cluster, const std::string& path, FileCheck& files) {
  if (cluster.secret_file) {
    files.checkSecret(*cluster.secret_file, joinPath(path, "secret_file"), false);
  }
  if (!cluster.tls) return;
  const ClusterTls& tls = *cluster.tls;
  if (tls.ca) files.checkAuthorities(*tls.ca, joinPath(path, "tls.ca"));
  if (!tls.certificate) return;
  files.checkCertificate({tls.certificate->cert, tls.certificate->key, std::nullopt},
                         joinPath(path, "tls"));
}

void checkSecrets(const Profiling& profiling, FileCheck& files) {
  files.checkSecret(profiling.secret_file, "profiling.secret_file", true);
  files.checkSecret(profiling.session_secret_file, "profiling.session_secret_file", true);
  if (profiling.previous_secret_file) {
    files.checkSecret(*profiling.previous_secret_file, "profiling.previous_secret_file", false);
  }
  if (profiling.previous_session_secret_file) {
    files.checkSecret(*profiling.previous_session_secret_file,
                      "profiling.previous_session_secret_file", false);
  }
}

}  // namespace

void checkFiles(const Config& config, const CertificateJudge& judge, Findings& findings) {
  FileCheck files(judge, findings);
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const auto& tls = config.listeners[i].tls;
    if (tls) checkTls(*tls, joinPath(indexPath("listeners", i), "tls"), files);
  }
  for (size_t i = 0; i < config.clusters.size(); ++i) {
    checkCluster(config.clusters[i], indexPath("clusters", i), files);
  }
  if (config.profiling.policy.enabled) checkSecrets(config.profiling, files);
  if (config.access_log.target == AccessLog::Target::File) {
    files.checkDirectoryOf(config.access_log.path, "access_log.path");
  }
  if (config.store.kind == Store::Kind::Embedded) {
    files.checkDirectoryOf(config.store.path, "store.path");
  }
  if (config.store.redis.ca) {
    files.checkAuthorities(*config.store.redis.ca, "store.redis.ca");
  }
  if (config.control.agents.tls) checkTls(*config.control.agents.tls, "control.agents.tls", files);
}

}  // namespace flamegate::config
