#include "proxy/filters/inject/csp_policy.h"

#include <algorithm>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f";

bool isAlphaNumeric(char c) {
  const char lower = toLowerAscii(c);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

// Takes the next token; empty at the end.
std::string_view takeToken(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  const std::string_view token = text.substr(0, text.find_first_of(kSpace));
  text.remove_prefix(token.size());
  return token;
}

template <typename Each>
void forEachToken(std::string_view text, Each each) {
  for (std::string_view token = takeToken(text); !token.empty(); token = takeToken(text))
    each(token);
}

bool hasToken(std::string_view text, std::string_view wanted) {
  bool found = false;
  forEachToken(text,
               [&](std::string_view token) { found = found || equalIgnoreCase(token, wanted); });
  return found;
}

// The text of `'PREFIXtext'` when it is of the base64 alphabets; empty otherwise.
std::string_view quotedBase64(std::string_view expression, std::string_view prefix) {
  if (expression.size() < prefix.size() + 3 || expression.front() != '\'' ||
      expression.back() != '\'') {
    return {};
  }
  std::string_view text = expression.substr(1, expression.size() - 2);
  if (!startsWithIgnoreCase(text, prefix)) return {};
  text.remove_prefix(prefix.size());
  std::string_view digits = text;
  for (int padding = 0; padding < 2 && !digits.empty() && digits.back() == '='; ++padding) {
    digits.remove_suffix(1);
  }
  const bool valid = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return isAlphaNumeric(c) || c == '+' || c == '/' || c == '-' || c == '_';
  });
  return valid ? text : std::string_view();
}

std::string_view nonceOf(std::string_view expression) { return quotedBase64(expression, "nonce-"); }

bool isHash(std::string_view expression) {
  return !quotedBase64(expression, "sha256-").empty() ||
         !quotedBase64(expression, "sha384-").empty() ||
         !quotedBase64(expression, "sha512-").empty();
}

uint16_t defaultPort(std::string_view scheme) {
  return equalIgnoreCase(scheme, "https") ? 443 : 80;
}

// An address may be of the policy's scheme or of its secure variant.
bool schemeMatches(std::string_view pattern, std::string_view scheme) {
  if (equalIgnoreCase(pattern, scheme)) return true;
  if (equalIgnoreCase(pattern, "http") || equalIgnoreCase(pattern, "ws")) {
    return equalIgnoreCase(scheme, "https") ||
           (equalIgnoreCase(pattern, "ws") && equalIgnoreCase(scheme, "http"));
  }
  return equalIgnoreCase(pattern, "wss") && equalIgnoreCase(scheme, "https");
}

bool hostMatches(std::string_view pattern, std::string_view host) {
  if (pattern == "*") return true;
  if (!pattern.starts_with("*.")) return equalIgnoreCase(pattern, host);
  const std::string_view suffix = pattern.substr(1);
  return host.size() > suffix.size() &&
         equalIgnoreCase(host.substr(host.size() - suffix.size()), suffix);
}

// `pattern` is the text after the colon; absent: the default port of the address's scheme.
bool portMatches(std::optional<std::string_view> pattern, const UrlParts& url) {
  if (!pattern) return url.port == defaultPort(url.scheme);
  if (*pattern == "*") return true;
  const std::optional<uint64_t> port = parseDecimal(*pattern);
  return port && (*port == url.port || (*port == 80 && url.port == 443));
}

std::string percentDecoded(std::string_view text) {
  const auto hex = [](char c) {
    const char lower = toLowerAscii(c);
    if (c >= '0' && c <= '9') return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool pathMatches(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return true;
  const std::string wanted = percentDecoded(pattern);
  const std::string actual = percentDecoded(path);
  if (wanted == "/") return true;
  return wanted.back() == '/' ? actual.starts_with(wanted) : actual == wanted;
}

struct Authority {
  std::string_view host;
  std::optional<std::string_view> port;
};

Authority splitAuthority(std::string_view text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool hostSourceMatches(std::string_view expression, const UrlParts& url, const UrlParts& self) {
  const size_t mark = expression.find("://");
  std::string_view scheme = self.scheme;
  if (mark != std::string_view::npos) {
    scheme = expression.substr(0, mark);
    expression.remove_prefix(mark + 3);
  }
  if (!schemeMatches(scheme, url.scheme)) return false;
  const size_t slash = expression.find('/');
  const Authority authority = splitAuthority(expression.substr(0, slash));
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : expression.substr(slash);
  return !authority.host.empty() && hostMatches(authority.host, url.host) &&
         portMatches(authority.port, url) && pathMatches(path, url.path);
}

bool isSelf(const UrlParts& url, const UrlParts& self) {
  if (!equalIgnoreCase(url.host, self.host) || !schemeMatches(self.scheme, url.scheme))
    return false;
  return url.port == self.port ||
         (url.port == defaultPort(url.scheme) && self.port == defaultPort(self.scheme));
}

}  // namespace

std::optional<UrlParts> parseUrl(std::string_view url) {
  const size_t mark = url.find("://");
  if (mark == std::string_view::npos) return std::nullopt;
  UrlParts parts;
  parts.scheme = url.substr(0, mark);
  if (!equalIgnoreCase(parts.scheme, "http") && !equalIgnoreCase(parts.scheme, "https"))
    return std::nullopt;
  url.remove_prefix(mark + 3);
  const size_t slash = url.find('/');
  const Authority authority = splitAuthority(url.substr(0, slash));
  parts.host = authority.host;
  parts.port = defaultPort(parts.scheme);
  if (authority.port) {
    const std::optional<uint64_t> port = parseDecimal(*authority.port);
    if (!port || *port == 0 || *port > 65535) return std::nullopt;
    parts.port = static_cast<uint16_t>(*port);
  }
  parts.path = slash == std::string_view::npos ? "/" : url.substr(slash);
  if (parts.host.empty()) return std::nullopt;
  return parts;
}

bool sourceMatches(std::string_view expression, const UrlParts& url, const UrlParts& self) {
  if (expression == "*") return true;
  if (expression.starts_with('\''))
    return equalIgnoreCase(expression, "'self'") && isSelf(url, self);
  if (expression.ends_with(':')) {
    return schemeMatches(expression.substr(0, expression.size() - 1), url.scheme);
  }
  return hostSourceMatches(expression, url, self);
}

bool SourceList::matches(const UrlParts& url, const UrlParts& self) const {
  bool found = false;
  forEachToken(text_,
               [&](std::string_view token) { found = found || sourceMatches(token, url, self); });
  return found;
}

bool SourceList::hasNonce(std::string_view nonce) const {
  const std::vector<std::string_view> all = nonces();
  return std::find(all.begin(), all.end(), nonce) != all.end();
}

std::vector<std::string_view> SourceList::nonces() const {
  std::vector<std::string_view> found;
  forEachToken(text_, [&](std::string_view token) {
    if (const std::string_view nonce = nonceOf(token); !nonce.empty()) found.push_back(nonce);
  });
  return found;
}

bool SourceList::hasHash() const {
  bool found = false;
  forEachToken(text_, [&](std::string_view token) { found = found || isHash(token); });
  return found;
}

bool SourceList::hasStrictDynamic() const { return hasToken(text_, "'strict-dynamic'"); }

std::vector<std::string_view> SourceList::expressions(bool only_sources) const {
  std::vector<std::string_view> found;
  forEachToken(text_, [&](std::string_view token) {
    const bool keyword = token.starts_with('\'');
    if (equalIgnoreCase(token, "'none'")) return;
    if (only_sources && keyword && !equalIgnoreCase(token, "'self'")) return;
    found.push_back(token);
  });
  return found;
}

CspPolicy::CspPolicy(std::string_view text) : text_(text) {
  while (!text.empty()) {
    std::string_view directive = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(directive.size() + 1, text.size()));
    const std::string_view name = takeToken(directive);
    if (!name.empty() && find(name) == nullptr) directives_.push_back({name, directive});
  }
}

const Directive* CspPolicy::find(std::string_view name) const {
  for (const Directive& directive : directives_) {
    if (equalIgnoreCase(directive.name, name)) return &directive;
  }
  return nullptr;
}

const Directive* CspPolicy::scriptDirective() const {
  for (std::string_view name : {"script-src-elem", "script-src", "default-src"}) {
    if (const Directive* found = find(name)) return found;
  }
  return nullptr;
}

const Directive* CspPolicy::connectDirective() const {
  const Directive* own = find("connect-src");
  return own != nullptr ? own : find("default-src");
}

bool CspPolicy::sandboxesBadge() const {
  const Directive* sandbox = find("sandbox");
  return sandbox != nullptr && !(hasToken(sandbox->value, "allow-scripts") &&
                                 hasToken(sandbox->value, "allow-same-origin"));
}

}  // namespace flamegate::proxy
