#include "proxy/filters/inject/badge_transform.h"

#include <utility>

namespace flamegate::proxy {

BadgeTransform::BadgeTransform(BadgeTransformOptions options) : options_(std::move(options)) {
  if (options_.coding == ContentCoding::Gzip) gzip_ = std::make_unique<GzipAppender>();
}

void BadgeTransform::transform(std::string_view in, bool at_end, std::string& out) {
  if (gzip_ != nullptr) {
    gzip_->write(in, out, *this);
  } else {
    observe(in);
    out += in;
  }
  if (at_end) end(out);
}

void BadgeTransform::observe(std::string_view in) {
  if (!in.empty()) onBytes(in);
}

void BadgeTransform::onBytes(std::string_view decoded) {
  if (outcome_ != InjectOutcome::Pending) return;
  decoded_bytes_ += decoded.size();
  if (decoded_bytes_ > options_.decoded_bytes_max) return refuse(InjectOutcome::TooLong);
  scanner_.scan(decoded);
  if (scanner_.start() == DocumentStart::Other) {
    refuse(InjectOutcome::NotDocument);
  } else if (scanner_.endContext() == EndContext::Ambiguous) {
    refuse(InjectOutcome::Ambiguous);
  } else if (scanner_.isAmp()) {
    refuse(InjectOutcome::Amp);
  }
}

void BadgeTransform::refuse(InjectOutcome outcome) {
  outcome_ = outcome;
  if (gzip_ != nullptr) gzip_->giveUp();
}

void BadgeTransform::end(std::string& out) {
  std::string element;
  if (outcome_ == InjectOutcome::Pending) outcome_ = judgeEnd();
  if (outcome_ == InjectOutcome::Injected) {
    element = buildBadgeElement(options_.tag, nonceUnderMetaPolicies().value_or(std::string()));
  }
  if (gzip_ == nullptr) {
    out += element;
  } else if (!gzip_->finish(element, out) && outcome_ == InjectOutcome::Injected) {
    outcome_ = InjectOutcome::BrokenCoding;
  }
}

InjectOutcome BadgeTransform::judgeEnd() const {
  if (scanner_.hasUnsafeCharset()) return InjectOutcome::Charset;
  if (scanner_.start() != DocumentStart::Document) return InjectOutcome::NotDocument;
  switch (scanner_.endContext()) {
    case EndContext::Plain:
      break;
    case EndContext::Frameset:
      return InjectOutcome::Frameset;
    case EndContext::Ambiguous:
      return InjectOutcome::Ambiguous;
    default:
      return InjectOutcome::EndsInside;
  }
  if (options_.tag.origin.empty() && scanner_.hasBase()) return InjectOutcome::RelativeBase;
  return nonceUnderMetaPolicies() ? InjectOutcome::Injected : InjectOutcome::MetaPolicy;
}

std::optional<std::string> BadgeTransform::nonceUnderMetaPolicies() const {
  if (scanner_.meta().hasUnreadablePolicy()) return std::nullopt;
  if (scanner_.meta().policies().empty()) return options_.nonce;
  const std::string script_url = options_.tag.scriptUrl();
  const std::string api_url = options_.tag.apiUrl();
  CspQuestion question;
  question.mode = options_.csp_mode;
  question.origin = options_.tag.origin;
  question.script_url = script_url;
  question.api_url = api_url;
  return decideMetaPolicies(scanner_.meta().policies(), question, options_.nonce);
}

}  // namespace flamegate::proxy
