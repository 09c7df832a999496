// Who a side of TLS is, and whom it believes: certificates, keys and authorities as PEM files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "proxy/base/result.h"

namespace flamegate::proxy {

struct TlsIdentityFiles {
  std::string cert;  // PEM chain, leaf first
  std::string key;   // PEM, not encrypted
  std::string ocsp;  // a DER response for the leaf (RFC 6960); empty: nothing is stapled
  bool operator==(const TlsIdentityFiles&) const = default;
};

// Something about one of the files of an identity.
struct TlsFileIssue {
  enum class File : uint8_t { Cert, Key, Ocsp };
  File file = File::Cert;
  std::string what;  // in words that follow the file's name
};

// A certificate chain with its private key, and what is stapled to it. Immutable.
// Thread: any, as OpenSSL counts references by itself.
class TlsIdentity {
 public:
  using Loading = tl::expected<std::shared_ptr<const TlsIdentity>, TlsFileIssue>;

  // Refuses what cannot be served: files that cannot be read or hold something else, a leaf that is
  // not first, a key that is not its own, keys that OpenSSL deems too weak, a staple for another
  // certificate. Blocks on the file system.
  static Loading load(const TlsIdentityFiles& files);
  ~TlsIdentity();

  // The leaf's DNS names in lower case, `*.` kept; its common name where it has none (RFC 6125
  // §6.4.4).
  const std::vector<std::string>& names() const;
  // Whether the leaf is for `host`: one of its names, `*` standing for one whole label (RFC 6125
  // §6.4.3). `host` in lower case, without port.
  bool covers(std::string_view host) const;
  // The end of the leaf's validity, in Unix seconds.
  int64_t expiresAt() const;
  // What an operator should know: expired, not valid yet, chain out of order, staple out of date.
  const std::vector<TlsFileIssue>& warnings() const;

  // What OpenSSL needs; defined in tls_material.h.
  struct Material;
  const Material& material() const { return *material_; }

 private:
  explicit TlsIdentity(std::unique_ptr<Material> material);
  std::unique_ptr<Material> material_;
};

// The certificates that a peer's chain may end in. Immutable. Thread: any.
class TlsAuthorities {
 public:
  // Errors: Io, source Config, with the file's name.
  static Result<std::shared_ptr<const TlsAuthorities>> load(const std::string& file);
  ~TlsAuthorities();

  struct Material;
  const Material& material() const { return *material_; }

 private:
  explicit TlsAuthorities(std::unique_ptr<Material> material);
  std::unique_ptr<Material> material_;
};

// "FILE: what is wrong", as an error of the configuration.
Error toError(const TlsFileIssue& issue, const TlsIdentityFiles& files);
// The file that an issue is about.
const std::string& fileOf(const TlsFileIssue& issue, const TlsIdentityFiles& files);

}  // namespace flamegate::proxy
