#include "proxy/filters/inject/eligibility.h"

#include <ostream>

#include <gtest/gtest.h>

#include "tests/proxy/filters/inject/heads.h"

namespace flamegate::proxy {

inline void PrintTo(InjectOutcome outcome, std::ostream* out) {
  *out << injectOutcomeName(outcome);
}

namespace {

constexpr uint64_t kLimit = 65536;

InjectOutcome judgeResponse(FieldTexts fields, uint16_t status = 200) {
  return judgeEligibility(makeRequest(), makeResponse(fields, status), kLimit).outcome;
}

InjectOutcome judgeRequest(FieldTexts fields, Method method = Method::Get) {
  return judgeEligibility(makeRequest(fields, method), makeResponse(), kLimit).outcome;
}

TEST(Eligibility, TakesStatusesThatCarryDocuments) {
  for (uint16_t status : {200, 201, 203, 400, 404, 410, 500, 502, 503}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", "text/html"}}, status), InjectOutcome::Pending)
        << status;
  }
  for (uint16_t status :
       {100, 101, 103, 204, 205, 206, 300, 301, 302, 303, 304, 307, 308, 600, 999}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", "text/html"}}, status), InjectOutcome::Status)
        << status;
  }
}

TEST(Eligibility, TakesGetAndTheHeadOfHead) {
  EXPECT_EQ(judgeRequest({{"Sec-Fetch-Dest", "document"}}), InjectOutcome::Pending);
  EXPECT_EQ(judgeRequest({{"Sec-Fetch-Dest", "document"}}, Method::Post), InjectOutcome::NotGet);
  const Eligibility head = judgeEligibility(makeRequest({{"Accept", "text/html"}}, Method::Head),
                                            makeResponse(), kLimit);
  EXPECT_EQ(head.outcome, InjectOutcome::Pending);
  EXPECT_TRUE(head.head_only);
}

TEST(Eligibility, TakesHtmlOnly) {
  for (std::string_view type :
       {"text/html", "TEXT/HTML", "text/html ; charset=utf-8", "text/html;charset=\"windows-1252\"",
        "text/html; charset=shift_jis", "text/html; charset=nonsense"}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", type}}), InjectOutcome::Pending) << type;
  }
  for (std::string_view type :
       {"application/xhtml+xml", "text/plain", "text/html5", "application/json", "",
        "text/event-stream", "text/html, text/plain"}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", type}}), InjectOutcome::NotHtml) << type;
  }
  EXPECT_EQ(judgeResponse({}), InjectOutcome::NotHtml);
  EXPECT_EQ(judgeResponse({{"Content-Type", "text/html"}, {"Content-Type", "text/html"}}),
            InjectOutcome::NotHtml);
}

TEST(Eligibility, LeavesEncodingsAloneInWhichAsciiIsNotAscii) {
  for (std::string_view type :
       {"text/html; charset=utf-16", "text/html; charset=UTF-16LE",
        "text/html;charset=\"iso-2022-jp\"", "text/html; x=y; charset = utf-16be"}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", type}}), InjectOutcome::Charset) << type;
  }
}

TEST(Eligibility, GoesByTheFetchDestinationWhereBrowsersSendIt) {
  EXPECT_EQ(judgeRequest({{"Sec-Fetch-Dest", "document"}, {"X-Requested-With", "x"}}),
            InjectOutcome::Pending);
  for (std::string_view destination : {"iframe", "empty", "image", "frame", "Document", ""}) {
    EXPECT_EQ(judgeRequest({{"Sec-Fetch-Dest", destination}, {"Accept", "text/html"}}),
              InjectOutcome::NotNavigation)
        << destination;
  }
}

TEST(Eligibility, GoesByAcceptAndMarkersOnClearText) {
  EXPECT_EQ(judgeRequest({{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}}),
            InjectOutcome::Pending);
  EXPECT_EQ(judgeRequest({{"Accept", "image/png"}, {"Accept", "*/*, TEXT/HTML;q=0.9"}}),
            InjectOutcome::Pending);
  // Command-line clients.
  EXPECT_EQ(judgeRequest({{"Accept", "*/*"}}), InjectOutcome::Pending);
  EXPECT_EQ(judgeRequest({}), InjectOutcome::Pending);
  EXPECT_EQ(judgeRequest({{"Accept", "application/json"}}), InjectOutcome::NotNavigation);
  for (std::string_view marker : {"X-Requested-With", "HX-Request", "Turbo-Frame",
                                  "X-Turbo-Request-Id", "X-PJAX", "X-Inertia", "X-Up-Version"}) {
    EXPECT_EQ(judgeRequest({{"Accept", "text/html"}, {marker, "1"}}), InjectOutcome::NotNavigation)
        << marker;
  }
}

TEST(Eligibility, LeavesAttachmentsAlone) {
  const auto judge = [](std::string_view disposition) {
    return judgeResponse({{"Content-Type", "text/html"}, {"Content-Disposition", disposition}});
  };
  EXPECT_EQ(judge("attachment"), InjectOutcome::Attachment);
  EXPECT_EQ(judge("Attachment; filename=a.html"), InjectOutcome::Attachment);
  EXPECT_EQ(judge("unknown"), InjectOutcome::Attachment);
  EXPECT_EQ(judge("inline; filename=attachment"), InjectOutcome::Pending);
}

TEST(Eligibility, HonoursNoTransformInAnyField) {
  const auto judge = [](std::string_view first, std::string_view second) {
    return judgeResponse(
        {{"Content-Type", "text/html"}, {"Cache-Control", first}, {"Cache-Control", second}});
  };
  EXPECT_EQ(judge("public, max-age=1", "no-store"), InjectOutcome::Pending);
  EXPECT_EQ(judge("public, No-Transform", "no-store"), InjectOutcome::NoTransform);
  EXPECT_EQ(judge("public", "max-age=1 , no-transform"), InjectOutcome::NoTransform);
  EXPECT_EQ(judge("x-no-transform", "no-transform-x"), InjectOutcome::Pending);
}

TEST(Eligibility, LeavesDigestedBodiesAlone) {
  for (std::string_view name : {"Content-Digest", "Repr-Digest", "Digest", "Signature"}) {
    EXPECT_EQ(judgeResponse({{"Content-Type", "text/html"}, {name, "sha-256=:a:"}}),
              InjectOutcome::Digest)
        << name;
    EXPECT_EQ(judgeResponse({{"Content-Type", "text/html"}, {"Trailer", "X-A"}, {"Trailer", name}}),
              InjectOutcome::Digest)
        << name;
  }
}

TEST(Eligibility, UndoesOneGzipCodingOnly) {
  const auto judge = [](std::string_view coding) {
    return judgeEligibility(
        makeRequest(), makeResponse({{"Content-Type", "text/html"}, {"Content-Encoding", coding}}),
        kLimit);
  };
  EXPECT_EQ(judge("gzip").coding, ContentCoding::Gzip);
  EXPECT_EQ(judge("X-GZIP").coding, ContentCoding::Gzip);
  EXPECT_EQ(judge("identity").coding, ContentCoding::Identity);
  for (std::string_view coding :
       {"br", "zstd", "deflate", "gzip, gzip", "gzip, br", "compress", "dcz"}) {
    EXPECT_EQ(judge(coding).outcome, InjectOutcome::Coding) << coding;
  }
}

TEST(Eligibility, LeavesBodiesAloneThatAreKnownToBeTooLong) {
  ResponseHead response = makeResponse();
  response.framing = Framing::Length;
  response.content_length = kLimit;
  EXPECT_EQ(judgeEligibility(makeRequest(), response, kLimit).outcome, InjectOutcome::Pending);
  response.content_length = kLimit + 1;
  EXPECT_EQ(judgeEligibility(makeRequest(), response, kLimit).outcome, InjectOutcome::TooLong);
}

TEST(Eligibility, LooksAtUnremovedFieldsOnly) {
  ResponseHead response = makeResponse({{"Content-Type", "text/html"}, {"Content-Digest", "a"}});
  response.fields.removeAll(HeaderId::BodyDigest);
  EXPECT_EQ(judgeEligibility(makeRequest(), response, kLimit).outcome, InjectOutcome::Pending);
}

}  // namespace
}  // namespace flamegate::proxy
