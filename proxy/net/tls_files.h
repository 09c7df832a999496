// TLS as configured: contexts made from files, and made again when these change.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "proxy/base/file_stamp.h"
#include "proxy/net/tls_client.h"
#include "proxy/net/tls_server.h"

namespace flamegate::proxy {

// Files that belong together, such as a certificate and its key, as they were when last read.
struct TlsFileGroup {
  std::vector<std::string> files;
  std::vector<FileStamp> stamps;  // one a file

  void stamp();
};

// What is made from groups of files. Each group is renewed alone, so that one that is broken does
// not hold up the others. Thread: groups() and renew() one thread; they block on the file system.
class TlsFiles {
 public:
  virtual ~TlsFiles() = default;
  const std::vector<TlsFileGroup>& groups() const { return groups_; }
  // Reads a group again and puts it in force for connections that come. On failure what was in
  // force stays so. Either way the group has new stamps. Errors: Io, source Config, with the file's
  // name.
  Result<> renew(size_t group);

 protected:
  virtual Result<> load(size_t group) = 0;
  virtual Result<> rebuild() = 0;
  std::vector<TlsFileGroup> groups_;
};

// The server's side of a listener.
// Owner: a snapshot. Thread: accept() any, as it takes the context under a lock.
class TlsListener final : public TlsFiles {
 public:
  struct Options {
    std::vector<TlsIdentityFiles> identities;  // at least one; the first is the default
    std::string client_authorities;            // PEM file; empty: none
    bool client_required = true;
    bool allow_tls12 = true;
    std::vector<std::string> alpn;
  };

  // Errors: Io, source Config, with the file's name.
  static Result<std::unique_ptr<TlsListener>> create(Options options,
                                                     std::shared_ptr<TlsTicketKeys> tickets);

  // See TlsServerContext::accept().
  std::unique_ptr<Transport> accept(int fd, Readiness& ready) const;
  // Its certificates, in the order of their groups, which are the first ones.
  const std::vector<std::shared_ptr<const TlsIdentity>>& identities() const {
    return context_options_.identities;
  }

 private:
  explicit TlsListener(Options options);
  Result<> load(size_t group) override;
  Result<> rebuild() override;

  const Options options_;
  TlsServerOptions context_options_;
  mutable std::mutex mutex_;
  std::optional<TlsServerContext> context_;  // guarded by mutex_
};

// The client's side towards the endpoints of a cluster.
// Owner: a snapshot. Thread: connect() any, as it takes the context under a lock.
class TlsConnector final : public TlsFiles {
 public:
  struct Options {
    bool verify = true;
    std::string authorities;                   // PEM file; empty: the system's
    std::optional<TlsIdentityFiles> identity;  // our own
    std::vector<std::string> alpn;
  };

  // Errors: Io, source Config, with the file's name.
  static Result<std::unique_ptr<TlsConnector>> create(Options options);

  // See TlsClientContext::connect().
  std::unique_ptr<Transport> connect(int fd, Readiness& ready, const std::string& server) const;

 private:
  explicit TlsConnector(Options options);
  Result<> load(size_t group) override;
  Result<> rebuild() override;

  const Options options_;
  TlsClientOptions context_options_;
  mutable std::mutex mutex_;
  std::optional<TlsClientContext> context_;  // guarded by mutex_
};

}  // namespace flamegate::proxy
