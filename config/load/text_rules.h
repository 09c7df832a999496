// What the texts of a configuration must look like.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/load/bindings.h"
#include "config/schema/config.h"

namespace flamegate::config {

extern const TextRule kName;             // of a cluster, project, entry; also a service's
extern const TextRule kLabel;            // printable text of one line
extern const TextRule kUserName;         // of HTTP Basic (RFC 7617): no colon
extern const TextRule kMethod;           // upper-case letters
extern const TextRule kFieldName;        // of any header
extern const TextRule kEditableField;    // of a header that may be set, added or removed
extern const TextRule kFieldValue;       // of a header
extern const TextRule kFieldText;        // a header's value that is not empty
extern const TextRule kQueryName;        // of a query pair, as decoded
extern const TextRule kQueryValue;       // of a query pair, as decoded
extern const TextRule kUrlPath;          // begins with a slash
extern const TextRule kProfilingPrefix;  // begins with a slash, does not end with one
extern const TextRule kRedirectTarget;   // an http(s) URL or a path
extern const TextRule kSite;             // scheme://host[:port]
extern const TextRule kHttpUrl;
extern const TextRule kServerName;       // for SNI
extern const TextRule kCertificateName;  // a DNS name or `*.` and one
extern const TextRule kReplacement;      // of a regular expression
extern const TextRule kPasswordHash;
extern const TextRule kSecret;
extern const TextRule kKeyPrefix;  // of the store's keys

// An RE2 expression that compiles.
Scalar regex(std::string& field);

// "shop.example.com" or "*.example.org", kept in lower case.
Scalar hostPattern(HostPattern& field);

// redis://[user[:password]@]host[:port][/database], or rediss: for TLS. User and password are
// percent-decoded.
Scalar redisUrl(Redis& field);

// scheme://host[:port] of an http or https URL, lower case; nothing else is kept.
struct Origin {
  bool tls = false;
  std::string host;  // an IPv6 literal without brackets
  uint16_t port = 0;
  std::string_view rest;  // of the parsed text: what follows
};
std::optional<Origin> parseOrigin(std::string_view url);

}  // namespace flamegate::config
