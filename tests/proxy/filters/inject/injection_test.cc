#include "proxy/filters/inject/injection.h"

#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/proxy/filters/inject/heads.h"

namespace flamegate::proxy {

inline void PrintTo(InjectOutcome outcome, std::ostream* out) {
  *out << injectOutcomeName(outcome);
}

namespace {

BadgeTag makeTag() {
  BadgeTag tag;
  tag.origin = "https://shop.example";
  tag.prefix = "/__flamegate";
  tag.script_path = "/b/0a1b.js";
  return tag;
}

Injection plan(const ResponseHead& response, Method method = Method::Get) {
  return Injection::plan(makeRequest({{"Sec-Fetch-Dest", "document"}}, method), response, {},
                         makeTag(), "ZnJlc2g");
}

std::string text(const FieldList& fields) {
  std::string lines;
  for (const Field& field : fields) {
    if (!field.removed())
      lines.append(field.name()).append(": ").append(field.value()).append("\n");
  }
  return lines;
}

ResponseHead fullResponse() {
  ResponseHead response =
      makeResponse({{"Content-Type", "text/html"},
                    {"Content-Length", "100"},
                    {"ETag", "\"v1\""},
                    {"Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"},
                    {"Accept-Ranges", "bytes"},
                    {"Content-MD5", "x"},
                    {"Content-Security-Policy", "script-src cdn.example"},
                    {"X-Other", "kept"},
                    {"content-security-policy", "img-src *"},
                    {"Content-Security-Policy-Report-Only", "script-src 'strict-dynamic'"}});
  response.framing = Framing::Length;
  response.content_length = 100;
  return response;
}

TEST(Injection, ChangesTheHeadOfACandidate) {
  ResponseHead response = fullResponse();
  Injection injection = plan(response);
  ASSERT_EQ(injection.outcome(), InjectOutcome::Pending);
  injection.changeHead(response, std::nullopt);
  EXPECT_EQ(
      text(response.fields),
      "Content-Type: text/html\n"
      "Content-Security-Policy: script-src cdn.example https://shop.example/__flamegate/b/0a1b.js\n"
      "X-Other: kept\n"
      "content-security-policy: img-src *\n"
      "Content-Security-Policy-Report-Only: script-src 'strict-dynamic' 'nonce-ZnJlc2g'\n");
  EXPECT_EQ(response.framing, Framing::Chunked);
  EXPECT_EQ(injection.changes().size(), 2U);
}

TEST(Injection, KeepsALengthThatIsKnown) {
  ResponseHead response = fullResponse();
  Injection injection = plan(response);
  injection.changeHead(response, 321);
  EXPECT_EQ(response.framing, Framing::Length);
  EXPECT_EQ(response.content_length, 321U);
  EXPECT_EQ(response.fields.findSingle(HeaderId::ContentLength), "321");
}

TEST(Injection, KeepsOtherFramings) {
  for (Framing framing : {Framing::Chunked, Framing::UntilClose}) {
    ResponseHead response = makeResponse();
    response.framing = framing;
    Injection injection = plan(response);
    injection.changeHead(response, std::nullopt);
    EXPECT_EQ(response.framing, framing);
  }
}

TEST(Injection, LetsHeadAnnounceNothingThatGetWouldNotSay) {
  ResponseHead response = fullResponse();
  response.framing = Framing::None;
  Injection injection = plan(response, Method::Head);
  ASSERT_TRUE(injection.headOnly());
  injection.changeHead(response, std::nullopt);
  EXPECT_EQ(response.fields.find(HeaderId::ContentLength), nullptr);
  EXPECT_EQ(response.fields.find(HeaderId::Etag), nullptr);
  EXPECT_EQ(response.framing, Framing::None);
}

TEST(Injection, SaysWhyAPolicyForbidsIt) {
  const auto outcome = [](std::string_view policy, CspMode mode) {
    const ResponseHead response =
        makeResponse({{"Content-Type", "text/html"}, {"Content-Security-Policy", policy}});
    InjectSettings settings;
    settings.csp_mode = mode;
    return Injection::plan(makeRequest(), response, settings, makeTag(), "ZnJlc2g").outcome();
  };
  EXPECT_EQ(outcome("sandbox", CspMode::Amend), InjectOutcome::CspSandbox);
  EXPECT_EQ(outcome("script-src 'none'", CspMode::Amend), InjectOutcome::Pending);
  EXPECT_EQ(outcome("script-src 'none'", CspMode::Reuse), InjectOutcome::CspBlocked);
  EXPECT_EQ(outcome("script-src 'self'", CspMode::Reuse), InjectOutcome::Pending);
  EXPECT_EQ(outcome("script-src 'self'", CspMode::Off), InjectOutcome::CspOff);
}

TEST(Injection, TransformsTheBodyWithTheNonceOfTheHead) {
  const ResponseHead response =
      makeResponse({{"Content-Type", "text/html"},
                    {"Content-Security-Policy", "script-src 'nonce-abc' 'strict-dynamic'"}});
  Injection injection = plan(response);
  BadgeTransform transform = injection.takeTransform();
  std::string out;
  transform.transform("<html></html>", true, out);
  EXPECT_EQ(out, "<html></html>" + buildBadgeElement(makeTag(), "abc"));
}

}  // namespace
}  // namespace flamegate::proxy
