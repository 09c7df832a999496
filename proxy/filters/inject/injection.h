// One response's injection: what the heads say, what changes on the response's head, and the
// transform of its body.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/filters/inject/badge_tag.h"
#include "proxy/filters/inject/badge_transform.h"
#include "proxy/filters/inject/csp.h"
#include "proxy/filters/inject/eligibility.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

struct InjectSettings {
  uint64_t body_bytes_max = 4 * 1024 * 1024;
  CspMode csp_mode = CspMode::Amend;
};

// Use: plan(); when it is a candidate, changeHead() before the head is sent, then the body through
// takeTransform().
//
// Whether the end of the body takes a script is only known at the end, so the length after it is
// not known when the head goes out: changeHead() makes such a response chunked (for a client of
// HTTP/1.0 the codec ends it by closing, HTTP/2 needs neither). A caller that already holds the
// whole body runs the transform first and says its size: then the length is exact, and a response
// that took no badge is left as it was.
//
// Owner: the inject filter; outlives the head's serialization, which views its texts.
// Thread: its exchange's.
class Injection {
 public:
  // `fresh_nonce`: random base64 text for this response alone.
  static Injection plan(const RequestHead& request, const ResponseHead& response,
                        const InjectSettings& settings, const BadgeTag& tag,
                        std::string_view fresh_nonce);

  // Pending: a candidate. Otherwise the response stays as it is.
  InjectOutcome outcome() const { return outcome_; }
  // A candidate's answer to HEAD: the head changes, and there is no body.
  bool headOnly() const { return eligibility_.head_only; }

  BadgeTransform takeTransform();

  // `body_bytes`: size of the transformed body when it is known.
  void changeHead(ResponseHead& response, std::optional<uint64_t> body_bytes);

  // What changeHead() did, a sentence each.
  const std::vector<std::string>& changes() const { return csp_.changes; }

 private:
  void changePolicies(FieldList& fields) const;
  void changeLength(ResponseHead& response, std::optional<uint64_t> body_bytes);

  InjectOutcome outcome_ = InjectOutcome::Pending;
  Eligibility eligibility_;
  InjectSettings settings_;
  BadgeTag tag_;
  CspDecision csp_;
  std::array<char, 20> length_digits_{};
};

}  // namespace flamegate::proxy
