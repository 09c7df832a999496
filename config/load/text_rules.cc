#include "config/load/text_rules.h"

#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "config/load/fault.h"

namespace flamegate::config {
namespace {

constexpr size_t kNameBytesMax = 64;
constexpr size_t kTextBytesMaxInLine = 1024;
constexpr size_t kUrlBytesMax = 2048;
constexpr size_t kRegexBytesMax = 1024;
constexpr size_t kHostBytesMax = 253;
constexpr size_t kPrefixBytesMax = 100;

bool isAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool isOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

template <typename Predicate>
bool allOf(std::string_view text, Predicate predicate) {
  return !text.empty() && std::all_of(text.begin(), text.end(), predicate);
}

bool isPrintable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7f;
}

bool isGraphic(char c) { return isPrintable(c) && c != ' '; }

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool isName(std::string_view text) {
  return allOf(text, [](char c) { return isAlnum(c) || isOneOf(c, "._-"); });
}

bool isLabelText(std::string_view text) { return allOf(text, isPrintable); }

bool isUserName(std::string_view text) {
  return allOf(text, [](char c) { return isPrintable(c) && c != ':'; });
}

bool isMethod(std::string_view text) {
  return allOf(text, [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
}

// RFC 9110 §5.6.2
bool isToken(std::string_view text) {
  return allOf(text, [](char c) { return isAlnum(c) || isOneOf(c, "!#$%&'*+-.^_`|~"); });
}

// Fields that belong to a connection or frame a message, and those of the agent protocol.
bool isEditableField(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kOwn = {
      "connection", "content-length", "http2-settings",    "keep-alive", "proxy-connection",
      "te",         "trailer",        "transfer-encoding", "upgrade",    "expect"};
  std::string lower = lowerCase(text);
  std::replace(lower.begin(), lower.end(), '_', '-');
  return isToken(text) && !startsWith(lower, "flamegate-") &&
         std::find(kOwn.begin(), kOwn.end(), lower) == kOwn.end();
}

// RFC 9110 §5.5, without surrounding blanks.
bool isFieldValue(std::string_view text) {
  if (text.empty()) return true;
  const bool trimmed = !isOneOf(text.front(), " \t") && !isOneOf(text.back(), " \t");
  return trimmed && allOf(text, [](char c) { return isPrintable(c) || c == '\t'; });
}

bool isFieldText(std::string_view text) { return !text.empty() && isFieldValue(text); }

bool isQueryName(std::string_view text) {
  return allOf(text, isPrintable) && text != "true" && text != "false";
}

bool isQueryValue(std::string_view text) { return text.empty() || allOf(text, isPrintable); }

bool isUrlPath(std::string_view text) {
  return startsWith(text, "/") &&
         allOf(text, [](char c) { return isGraphic(c) && !isOneOf(c, "?#"); });
}

bool isProfilingPrefix(std::string_view text) {
  return text.size() > 1 && text.front() == '/' && text.back() != '/' &&
         text.find("//") == std::string_view::npos && text.find("/.") == std::string_view::npos &&
         allOf(text, [](char c) { return isAlnum(c) || isOneOf(c, "/._~-"); });
}

bool isHttpUrl(std::string_view text) {
  const auto origin = parseOrigin(text);
  return origin && (origin->rest.empty() || isOneOf(origin->rest.front(), "/?")) &&
         allOf(text, isGraphic);
}

bool isRedirectTarget(std::string_view text) {
  const bool path = startsWith(text, "/") && !startsWith(text, "//") && allOf(text, isGraphic);
  return path || isHttpUrl(text);
}

bool isSite(std::string_view text) {
  const auto origin = parseOrigin(text);
  return origin && origin->rest.empty();
}

bool isCertificateName(std::string_view text) {
  return isHostName(startsWith(text, "*.") ? text.substr(2) : text);
}

bool isReplacement(std::string_view text) {
  return text.empty() || allOf(text, [](char c) { return isGraphic(c) && !isOneOf(c, "?#"); });
}

// crypt(5): $id$…, never a password in the clear.
bool isPasswordHash(std::string_view text) {
  return text.size() >= 20 && startsWith(text, "$") &&
         text.find('$', 1) != std::string_view::npos && allOf(text, isGraphic);
}

bool isSecretText(std::string_view text) { return allOf(text, isGraphic); }

bool isKeyPrefix(std::string_view text) {
  return text.empty() || allOf(text, [](char c) { return isAlnum(c) || isOneOf(c, ":._-/"); });
}

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hexValue(text[i + 1]);
    const int low = hexValue(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// Host and port of an authority without userinfo.
std::optional<Address> parseHostPort(std::string_view text, uint16_t default_port) {
  const bool v6_alone = !text.empty() && text.back() == ']';
  if (v6_alone || text.find(':') == std::string_view::npos) {
    return parseAddress(std::string(text).append(":").append(std::to_string(default_port)));
  }
  auto address = parseAddress(text);
  if (address && (address->isUnix() || address->port == 0)) return std::nullopt;
  return address;
}

bool readCredentials(std::string_view text, Redis& redis) {
  const size_t colon = text.find(':');
  const auto user = percentDecoded(text.substr(0, colon));
  const auto password =
      colon == std::string_view::npos ? std::string() : percentDecoded(text.substr(colon + 1));
  if (!user || !password) return false;
  redis.user = *user;
  redis.password = *password;
  return true;
}

std::optional<Redis> parseRedisUrl(std::string_view text, Redis redis) {
  constexpr uint16_t kRedisPort = 6379;
  constexpr uint64_t kDatabaseMax = 1023;
  redis.tls = startsWith(text, "rediss://");
  if (!redis.tls && !startsWith(text, "redis://")) return std::nullopt;
  std::string_view rest = text.substr(text.find("//") + 2);
  redis.user.clear();
  redis.password.clear();
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (!readCredentials(rest.substr(0, at), redis)) return std::nullopt;
    rest = rest.substr(at + 1);
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  const auto address = parseHostPort(rest.substr(0, slash), kRedisPort);
  const std::string_view database = rest.substr(std::min(slash + 1, rest.size()));
  const auto number = database.empty() ? 0 : parseInteger(database, kDatabaseMax);
  if (!address || !number) return std::nullopt;
  redis.address = *address;
  redis.database = static_cast<uint32_t>(*number);
  return redis;
}

std::string formatRedisUrl(const Redis& redis) {
  std::string text = redis.tls ? "rediss://" : "redis://";
  if (!redis.user.empty() || !redis.password.empty()) {
    text += redis.user + (redis.password.empty() ? "@" : ":***@");
  }
  return text + formatAddress(redis.address) + "/" + std::to_string(redis.database);
}

}  // namespace

const TextRule kName{"letters, digits, `.`, `_` and `-`", kNameBytesMax, isName};
const TextRule kLabel{"printable text", 200, isLabelText};
const TextRule kUserName{"a user name without a colon", kNameBytesMax, isUserName};
const TextRule kMethod{"a method in upper case", 32, isMethod};
const TextRule kFieldName{"a header's name", 200, isToken};
const TextRule kEditableField{"the name of a header that may be changed", 200, isEditableField};
const TextRule kFieldValue{"a header's value", 8192, isFieldValue};
const TextRule kFieldText{"a header's value, not empty", 8192, isFieldText};
const TextRule kQueryName{"the name of a query pair", 200, isQueryName};
const TextRule kQueryValue{"the value of a query pair", kTextBytesMaxInLine, isQueryValue};
const TextRule kUrlPath{"a path that begins with `/`", kTextBytesMaxInLine, isUrlPath};
const TextRule kProfilingPrefix{"a path that begins with `/` and does not end with one",
                                kPrefixBytesMax, isProfilingPrefix};
const TextRule kRedirectTarget{"an http(s) URL or a path that begins with `/`", kUrlBytesMax,
                               isRedirectTarget};
const TextRule kSite{"http(s)://host or http(s)://host:port", kUrlBytesMax, isSite};
const TextRule kHttpUrl{"an http(s) URL", kUrlBytesMax, isHttpUrl};
const TextRule kServerName{"a DNS name", kHostBytesMax, isHostName};
const TextRule kCertificateName{"a DNS name, or `*.` and one", kHostBytesMax, isCertificateName};
const TextRule kReplacement{"a replacement", kTextBytesMaxInLine, isReplacement};
const TextRule kPasswordHash{"a crypt(5) hash such as $2b$…", 200, isPasswordHash};
const TextRule kSecret{"a text without blanks", kTextBytesMaxInLine, isSecretText};
const TextRule kKeyPrefix{"letters, digits and `:._-/`", kNameBytesMax, isKeyPrefix};

Scalar regex(std::string& field) {
  Scalar scalar;
  scalar.type = "RE2 expression";
  scalar.limits = "up to " + std::to_string(kRegexBytesMax) + " bytes";
  scalar.assign = [&field](const std::string& written) -> Problem {
    if (written.empty() || written.size() > kRegexBytesMax) {
      return "must be an RE2 expression of up to " + std::to_string(kRegexBytesMax) + " bytes";
    }
    const RE2 compiled(written, RE2::Quiet);
    if (!compiled.ok()) return "not a regular expression: " + compiled.error();
    field = written;
    return std::nullopt;
  };
  scalar.text = [&field] { return field; };
  return scalar;
}

Scalar hostPattern(HostPattern& field) {
  Scalar scalar;
  scalar.type = "host name";
  scalar.limits = "up to " + std::to_string(kHostBytesMax) + " bytes";
  scalar.assign = [&field](const std::string& written) -> Problem {
    const bool any_subdomain = startsWith(written, "*.");
    const std::string_view name = std::string_view(written).substr(any_subdomain ? 2 : 0);
    const bool v6 = !any_subdomain && name.size() > 2 && name.front() == '[' &&
                    name.back() == ']' && parseIp(name.substr(1, name.size() - 2));
    if (!v6 && !isHostName(name)) {
      return "must be a host name without a port, or `*.` and one, not " + inQuotes(written);
    }
    field = {lowerCase(name), any_subdomain};
    return std::nullopt;
  };
  scalar.text = [&field] { return (field.any_subdomain ? "*." : "") + field.name; };
  return scalar;
}

Scalar redisUrl(Redis& field) {
  Scalar scalar;
  scalar.type = "redis(s) URL";
  scalar.assign = [&field](const std::string& written) -> Problem {
    auto parsed = parseRedisUrl(written, field);
    if (!parsed) return "must be redis://[user[:password]@]host[:port][/database]";
    field = std::move(*parsed);
    return std::nullopt;
  };
  scalar.text = [&field] { return formatRedisUrl(field); };
  return scalar;
}

std::optional<Origin> parseOrigin(std::string_view url) {
  Origin origin;
  const std::string scheme = lowerCase(url.substr(0, std::min(url.find("://"), url.size())));
  origin.tls = scheme == "https";
  if (!origin.tls && scheme != "http") return std::nullopt;
  std::string_view rest = url.substr(std::min(scheme.size() + 3, url.size()));
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const auto address = parseHostPort(rest.substr(0, end), origin.tls ? 443 : 80);
  if (!address || address->isUnix()) return std::nullopt;
  origin.host = lowerCase(address->host);
  origin.port = address->port;
  origin.rest = rest.substr(end);
  return origin;
}

}  // namespace flamegate::config
