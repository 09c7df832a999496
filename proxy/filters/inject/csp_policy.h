// Content-Security-Policy values, as far as they decide whether the badge may run (CSP Level 3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flamegate::proxy {

// An absolute http(s) address in its parts.
struct UrlParts {
  std::string_view scheme;
  std::string_view host;
  uint16_t port = 0;  // the scheme's default when the address names none
  std::string_view path;
};

// Nothing when `url` is not http(s)://host[:port][/path].
std::optional<UrlParts> parseUrl(std::string_view url);

// Whether a source expression matches the address (CSP3 §6.7.2.8). `self` is the document's origin.
bool sourceMatches(std::string_view expression, const UrlParts& url, const UrlParts& self);

// One directive's value: source expressions between white space. A view into the policy's text.
class SourceList {
 public:
  explicit SourceList(std::string_view text) : text_(text) {}

  bool matches(const UrlParts& url, const UrlParts& self) const;
  bool hasNonce(std::string_view nonce) const;
  std::vector<std::string_view> nonces() const;
  bool hasHash() const;
  bool hasStrictDynamic() const;
  // The expressions other than 'none'. `only_sources` leaves out every keyword but 'self'.
  std::vector<std::string_view> expressions(bool only_sources = false) const;

 private:
  std::string_view text_;
};

// A directive of a policy: where its text lies, so that it can be changed in place.
struct Directive {
  std::string_view name;
  std::string_view value;
};

// One serialized policy: an element of a field's comma-separated list, or a meta element's content.
class CspPolicy {
 public:
  explicit CspPolicy(std::string_view text);

  std::string_view text() const { return text_; }
  // The first directive of that name (a repeated one has no force); null without one.
  const Directive* find(std::string_view name) const;
  // The directive that governs script elements, and the one that governs connections.
  const Directive* scriptDirective() const;
  const Directive* connectDirective() const;
  // A sandbox in which the badge cannot run or reach its API. Has force in header fields only.
  bool sandboxesBadge() const;

 private:
  std::string_view text_;
  std::vector<Directive> directives_;
};

}  // namespace flamegate::proxy
