// Keys derived from secrets, and which of them are good at present (SPEC.md R3, R4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/base/encoding.h"

namespace flamegate::agent {

// What proxy, control and agents of one application share. Immutable.
struct AgentKeys {
  proxy::Sha256 request;  // signs Flamegate-Profile
  proxy::Sha256 upload;   // signs uploads, hellos and their answers
  std::string kid;        // names the secret: 8 hex digits

  static AgentKeys derive(std::string_view secret);
};

// What the proxy alone signs with: tokens, session cookies and its calls to control. Immutable.
struct SessionKeys {
  proxy::Sha256 token;
  proxy::Sha256 session;
  proxy::Sha256 control;
  std::string kid;  // first 8 hex digits of SHA-256(token)

  static SessionKeys derive(std::string_view session_secret);
};

// The keys of the current secret, which sign, and while a secret is being replaced those of the
// previous one, which are still accepted. Immutable: a new secret is a new ring.
template <typename Keys>
class Ring {
 public:
  explicit Ring(Keys current, std::optional<Keys> previous = std::nullopt)
      : current_(std::move(current)), previous_(std::move(previous)) {}

  const Keys& current() const { return current_; }
  const Keys* previous() const { return previous_ ? &*previous_ : nullptr; }

  // The keys that a kid names; null when it is neither's.
  const Keys* find(std::string_view kid) const {
    if (kid == current_.kid) return &current_;
    return previous_ && kid == previous_->kid ? &*previous_ : nullptr;
  }

  // The first keys for which `holds(keys)`; null when it holds for none.
  template <typename Predicate>
  const Keys* findIf(Predicate holds) const {
    if (holds(current_)) return &current_;
    return previous_ && holds(*previous_) ? &*previous_ : nullptr;
  }

 private:
  Keys current_;
  std::optional<Keys> previous_;
};

using KeyRing = Ring<AgentKeys>;
using SessionKeyRing = Ring<SessionKeys>;

}  // namespace flamegate::agent
