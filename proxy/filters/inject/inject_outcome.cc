#include "proxy/filters/inject/inject_outcome.h"

namespace flamegate::proxy {

std::string_view injectOutcomeName(InjectOutcome outcome) {
  switch (outcome) {
    case InjectOutcome::Pending:
      return "pending";
    case InjectOutcome::Injected:
      return "injected";
    case InjectOutcome::NotGet:
      return "not-get";
    case InjectOutcome::Status:
      return "status";
    case InjectOutcome::NotHtml:
      return "not-html";
    case InjectOutcome::NotNavigation:
      return "not-navigation";
    case InjectOutcome::Attachment:
      return "attachment";
    case InjectOutcome::NoTransform:
      return "no-transform";
    case InjectOutcome::Digest:
      return "digest";
    case InjectOutcome::Coding:
      return "coding";
    case InjectOutcome::Charset:
      return "charset";
    case InjectOutcome::TooLong:
      return "too-long";
    case InjectOutcome::CspOff:
      return "csp-off";
    case InjectOutcome::CspSandbox:
      return "csp-sandbox";
    case InjectOutcome::CspBlocked:
      return "csp-blocked";
    case InjectOutcome::CspReports:
      return "csp-reports";
    case InjectOutcome::NotDocument:
      return "not-document";
    case InjectOutcome::Amp:
      return "amp";
    case InjectOutcome::EndsInside:
      return "ends-inside";
    case InjectOutcome::Ambiguous:
      return "ambiguous";
    case InjectOutcome::Frameset:
      return "frameset";
    case InjectOutcome::MetaPolicy:
      return "meta-policy";
    case InjectOutcome::RelativeBase:
      return "relative-base";
    case InjectOutcome::BrokenCoding:
      return "broken-coding";
  }
  return "";
}

}  // namespace flamegate::proxy
