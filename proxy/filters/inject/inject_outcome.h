// Why a response got the badge or did not.
#pragma once

#include <cstdint>
#include <string_view>

namespace flamegate::proxy {

enum class InjectOutcome : uint8_t {
  Pending,   // the end of the body decides
  Injected,  // the badge was appended
  // Known from the heads; nothing was changed.
  NotGet,         // neither GET nor HEAD
  Status,         // a status without a document of its own
  NotHtml,        // no or several Content-Type fields, or not text/html
  NotNavigation,  // the browser asked for something other than a page
  Attachment,
  NoTransform,
  Digest,      // a digest or signature covers the body
  Coding,      // a content coding that is not undone here
  Charset,     // ASCII text would not mean itself
  TooLong,     // longer than the limit, as announced or as decoded
  CspOff,      // there is a policy, and the setting says to leave such pages alone
  CspSandbox,  // the page's sandbox keeps the script from running
  CspBlocked,  // the page's policy blocks the script and is not to be amended
  CspReports,  // the script would fill the site owner's violation reports
  // Known from the body; the decoded body was passed on as it came.
  NotDocument,   // does not begin like a document
  Amp,           // its format allows no scripts
  EndsInside,    // ends in a comment, script, template or the like
  Ambiguous,     // browsers may read it differently
  Frameset,      // has no body
  MetaPolicy,    // a policy in a meta element blocks the script
  RelativeBase,  // a base element would send the script's relative address elsewhere
  BrokenCoding,  // the content coding does not decode or is cut off
};

// As metrics and the profile's list of changes print it: "injected", "not-html", …
std::string_view injectOutcomeName(InjectOutcome outcome);

}  // namespace flamegate::proxy
