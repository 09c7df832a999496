#include "proxy/filters/inject/eligibility.h"

#include <optional>

#include "proxy/base/strings.h"
#include "proxy/filters/inject/charset.h"

namespace flamegate::proxy {
namespace {

// Whether an element of any field of this name meets the condition.
template <typename Condition>
bool anyElement(const FieldList& fields, HeaderId id, Condition condition) {
  bool found = false;
  if (!fields.has(id)) return found;
  for (const Field& field : fields) {
    if (field.id() != id || field.removed()) continue;
    forEachElement(field.value(), [&](std::string_view element) {
      found = found || condition(element);
      return !found;
    });
  }
  return found;
}

// Text up to the first `;`: a media type, a disposition type.
std::string_view mainPart(std::string_view value) {
  return trimBlanks(value.substr(0, value.find(';')));
}

bool isNoTransform(std::string_view directive) {
  return equalIgnoreCase(directive, "no-transform");
}

// 1xx, 204, 205, 206 and 3xx carry no document, or a part of one. Error pages are documents.
bool statusHasDocument(uint16_t status) {
  if (status == 204 || status == 205 || status == 206) return false;
  return (status >= 200 && status < 300) || (status >= 400 && status < 600);
}

// Markers that scripts put on requests whose answers they insert into a page themselves.
bool isScripted(const FieldList& fields) {
  return fields.find(HeaderId::XRequestedWith) != nullptr ||
         fields.find(HeaderId::FragmentRequest) != nullptr;
}

// Browsers leave Sec-Fetch-* out on clear text: there the Accept field has to do.
bool isNavigation(const FieldList& fields) {
  if (const Field* destination = fields.find(HeaderId::SecFetchDest)) {
    return destination->value() == "document";
  }
  if (isScripted(fields)) return false;
  // A command-line client takes anything, or does not say.
  if (fields.find(HeaderId::Accept) == nullptr) return true;
  return anyElement(fields, HeaderId::Accept, [](std::string_view element) {
    const std::string_view type = mainPart(element);
    return equalIgnoreCase(type, "text/html") || type == "*/*";
  });
}

// Whatever is not inline is to be saved (RFC 6266 §4.2).
bool isAttachment(const FieldList& fields) {
  const Field* disposition = fields.find(HeaderId::ContentDisposition);
  return disposition != nullptr && !equalIgnoreCase(mainPart(disposition->value()), "inline");
}

bool isDigestName(std::string_view name) {
  for (std::string_view known : {"content-digest", "repr-digest", "digest", "signature"}) {
    if (equalIgnoreCase(name, known)) return true;
  }
  return false;
}

bool isDigested(const FieldList& fields) {
  return fields.find(HeaderId::BodyDigest) != nullptr ||
         fields.find(HeaderId::Signature) != nullptr ||
         anyElement(fields, HeaderId::Trailer, isDigestName);
}

// The body's coding; nothing for several, or one that is not undone here.
std::optional<ContentCoding> bodyCoding(const FieldList& fields) {
  ContentCoding coding = ContentCoding::Identity;
  const bool unknown = anyElement(fields, HeaderId::ContentEncoding, [&](std::string_view element) {
    const std::optional<ContentCoding> found = findContentCoding(element);
    if (!found || *found == ContentCoding::Deflate || coding != ContentCoding::Identity)
      return true;
    coding = *found;
    return false;
  });
  return unknown ? std::nullopt : std::optional(coding);
}

InjectOutcome judgeType(const FieldList& fields) {
  const std::optional<std::string_view> type = fields.findSingle(HeaderId::ContentType);
  if (!type || !equalIgnoreCase(mainPart(*type), "text/html")) return InjectOutcome::NotHtml;
  return isAsciiCompatible(findCharset(*type)) ? InjectOutcome::Pending : InjectOutcome::Charset;
}

InjectOutcome judge(const RequestHead& request, const ResponseHead& response,
                    uint64_t body_bytes_max) {
  if (request.method != Method::Get && request.method != Method::Head) return InjectOutcome::NotGet;
  if (!statusHasDocument(response.status)) return InjectOutcome::Status;
  const FieldList& fields = response.fields;
  if (const InjectOutcome type = judgeType(fields); type != InjectOutcome::Pending) return type;
  if (!isNavigation(request.fields)) return InjectOutcome::NotNavigation;
  if (isAttachment(fields)) return InjectOutcome::Attachment;
  if (anyElement(fields, HeaderId::CacheControl, isNoTransform)) return InjectOutcome::NoTransform;
  if (isDigested(fields)) return InjectOutcome::Digest;
  if (!bodyCoding(fields)) return InjectOutcome::Coding;
  if (response.framing == Framing::Length && response.content_length > body_bytes_max) {
    return InjectOutcome::TooLong;
  }
  return InjectOutcome::Pending;
}

}  // namespace

Eligibility judgeEligibility(const RequestHead& request, const ResponseHead& response,
                             uint64_t body_bytes_max) {
  Eligibility eligibility;
  eligibility.outcome = judge(request, response, body_bytes_max);
  if (eligibility.outcome != InjectOutcome::Pending) return eligibility;
  eligibility.coding = bodyCoding(response.fields).value_or(ContentCoding::Identity);
  eligibility.head_only = request.method == Method::Head;
  return eligibility;
}

}  // namespace flamegate::proxy
