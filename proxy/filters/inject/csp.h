// Decides how the badge's script can run under a page's Content-Security-Policy without making any
// policy weaker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flamegate::proxy {

enum class CspMode : uint8_t {
  Reuse,  // change nothing: take a nonce that is there, or a source that already fits
  Amend,  // else add to the header fields what the badge needs, and nothing wider
  Off,    // a page with any policy gets no badge
};

enum class CspRefusal : uint8_t {
  None,
  Off,         // mode Off, and there is a policy
  Sandbox,     // the sandbox directive keeps the badge from running or from its API
  Blocked,     // a policy blocks the badge and may not or cannot be amended
  ReportOnly,  // the badge would fill the site owner's reports
};

struct CspQuestion {
  CspMode mode = CspMode::Amend;
  // scheme://host[:port] of the document. Empty when it is not known for sure: then the badge's
  // addresses are relative, and only policies that name 'self' or everything fit.
  std::string_view origin;
  std::string_view script_url;   // absolute with an origin, else beginning with the path
  std::string_view api_url;      // likewise; ends in a slash
  std::string_view fresh_nonce;  // random base64 text of this response alone
};

struct CspDecision {
  CspRefusal refusal = CspRefusal::None;
  std::string nonce;  // for the script's tag; empty when it needs none
  // One per given field: the value to send instead, nothing where it stays as it is.
  std::vector<std::optional<std::string>> enforced;
  std::vector<std::optional<std::string>> report_only;
  // A sentence for each change, for the profile's list of what was changed.
  std::vector<std::string> changes;
};

// `enforced` and `report_only` are the values of all Content-Security-Policy and
// Content-Security-Policy-Report-Only fields. What is added to an enforced policy is never more
// than the script's own address, the API's address for connections, and the fresh nonce where the
// list had already switched 'unsafe-inline' off. No policy and no field is ever removed.
CspDecision decideCsp(std::span<const std::string_view> enforced,
                      std::span<const std::string_view> report_only, const CspQuestion& question);

// Policies of meta elements, which cannot be changed. `nonce` is the header decision's. Returns the
// nonce for the tag, which may be one that these policies share; nothing when one blocks the badge.
std::optional<std::string> decideMetaPolicies(std::span<const std::string> policies,
                                              const CspQuestion& question, std::string_view nonce);

}  // namespace flamegate::proxy
