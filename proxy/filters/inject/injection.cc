#include "proxy/filters/inject/injection.h"

#include <utility>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kReportOnly = "content-security-policy-report-only";

bool isEnforced(const Field& field) {
  return field.id() == HeaderId::ContentSecurityPolicy && !field.removed();
}

bool isReportOnly(const Field& field) {
  return field.id() == HeaderId::Other && !field.removed() &&
         equalIgnoreCase(field.name(), kReportOnly);
}

std::vector<std::string_view> values(const FieldList& fields, bool (*wanted)(const Field&)) {
  std::vector<std::string_view> found;
  for (const Field& field : fields) {
    if (wanted(field)) found.push_back(field.value());
  }
  return found;
}

InjectOutcome outcomeOf(CspRefusal refusal) {
  switch (refusal) {
    case CspRefusal::None:
      return InjectOutcome::Pending;
    case CspRefusal::Off:
      return InjectOutcome::CspOff;
    case CspRefusal::Sandbox:
      return InjectOutcome::CspSandbox;
    case CspRefusal::Blocked:
      return InjectOutcome::CspBlocked;
    case CspRefusal::ReportOnly:
      return InjectOutcome::CspReports;
  }
  return InjectOutcome::CspBlocked;
}

void removeNamed(FieldList& fields, std::string_view name) {
  for (size_t at = 0; at < fields.size(); ++at) {
    if (!fields[at].removed() && equalIgnoreCase(fields[at].name(), name)) fields.remove(at);
  }
}

}  // namespace

Injection Injection::plan(const RequestHead& request, const ResponseHead& response,
                          const InjectSettings& settings, const BadgeTag& tag,
                          std::string_view fresh_nonce) {
  Injection injection;
  injection.settings_ = settings;
  injection.tag_ = tag;
  injection.eligibility_ = judgeEligibility(request, response, settings.body_bytes_max);
  injection.outcome_ = injection.eligibility_.outcome;
  if (injection.outcome_ != InjectOutcome::Pending) return injection;

  const std::string script_url = tag.scriptUrl();
  const std::string api_url = tag.apiUrl();
  CspQuestion question;
  question.mode = settings.csp_mode;
  question.origin = tag.origin;
  question.script_url = script_url;
  question.api_url = api_url;
  question.fresh_nonce = fresh_nonce;
  injection.csp_ = decideCsp(values(response.fields, isEnforced),
                             values(response.fields, isReportOnly), question);
  injection.outcome_ = outcomeOf(injection.csp_.refusal);
  return injection;
}

BadgeTransform Injection::takeTransform() {
  BadgeTransformOptions options;
  options.coding = eligibility_.coding;
  options.decoded_bytes_max = settings_.body_bytes_max;
  options.csp_mode = settings_.csp_mode;
  options.nonce = csp_.nonce;
  options.tag = tag_;
  return BadgeTransform(std::move(options));
}

void Injection::changeHead(ResponseHead& response, std::optional<uint64_t> body_bytes) {
  FieldList& fields = response.fields;
  changePolicies(fields);
  for (HeaderId id : {HeaderId::Etag, HeaderId::LastModified, HeaderId::AcceptRanges})
    fields.removeAll(id);
  removeNamed(fields, "content-md5");
  changeLength(response, body_bytes);
}

void Injection::changePolicies(FieldList& fields) const {
  size_t enforced = 0;
  size_t reported = 0;
  for (size_t at = 0; at < fields.size(); ++at) {
    const std::optional<std::string>* value = nullptr;
    if (isEnforced(fields[at])) {
      value = &csp_.enforced[enforced++];
    } else if (isReportOnly(fields[at])) {
      value = &csp_.report_only[reported++];
    }
    if (value != nullptr && *value) fields.setValue(at, **value);
  }
}

void Injection::changeLength(ResponseHead& response, std::optional<uint64_t> body_bytes) {
  if (headOnly()) {
    response.fields.removeAll(HeaderId::ContentLength);
    return;
  }
  if (response.framing != Framing::Length) return;
  if (!body_bytes) {
    response.fields.removeAll(HeaderId::ContentLength);
    response.framing = Framing::Chunked;
    return;
  }
  response.content_length = *body_bytes;
  const char* end = writeDecimal(length_digits_.data(), *body_bytes);
  const std::string_view digits(length_digits_.data(),
                                static_cast<size_t>(end - length_digits_.data()));
  for (size_t at = 0; at < response.fields.size(); ++at) {
    if (response.fields[at].id() == HeaderId::ContentLength) response.fields.setValue(at, digits);
  }
}

}  // namespace flamegate::proxy
