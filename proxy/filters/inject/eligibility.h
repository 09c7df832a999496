// Which responses may get the badge, as far as the heads tell.
#pragma once

#include <cstdint>

#include "proxy/filters/inject/inject_outcome.h"
#include "proxy/http/content_coding.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

struct Eligibility {
  // Pending: the body decides. Anything else: leave the response alone.
  InjectOutcome outcome = InjectOutcome::NotHtml;
  ContentCoding coding = ContentCoding::Identity;
  // The answer to a HEAD request whose GET would be Pending: it must not announce what that would
  // no longer say.
  bool head_only = false;
};

// `request` is the client's, `response` the application's, both before anything of ours is added.
// That the client may see the badge at all is for the caller to know.
Eligibility judgeEligibility(const RequestHead& request, const ResponseHead& response,
                             uint64_t body_bytes_max);

}  // namespace flamegate::proxy
