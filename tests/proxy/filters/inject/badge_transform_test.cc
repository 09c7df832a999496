#include "proxy/filters/inject/badge_transform.h"

#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace flamegate::proxy {

inline void PrintTo(InjectOutcome outcome, std::ostream* out) {
  *out << injectOutcomeName(outcome);
}

namespace {

constexpr std::string_view kPage = "<!doctype html><html><head></head><body>hi</body></html>\n";

BadgeTag makeTag() {
  BadgeTag tag;
  tag.origin = "https://shop.example";
  tag.prefix = "/__flamegate";
  tag.script_path = "/b/0a1b.js";
  tag.integrity = "sha384-aGFzaA==";
  tag.pageview = "pv1";
  tag.profile_id = "0lx1c2d3abcdefghijkl";
  return tag;
}

BadgeTransformOptions makeOptions(ContentCoding coding) {
  BadgeTransformOptions options;
  options.coding = coding;
  options.tag = makeTag();
  return options;
}

const std::string kElement = buildBadgeElement(makeTag(), "");

struct Outcome {
  std::string body;
  InjectOutcome outcome;
};

Outcome run(BadgeTransformOptions options, std::string_view body, size_t piece_bytes = SIZE_MAX) {
  BadgeTransform transform(std::move(options));
  Outcome result;
  while (body.size() > piece_bytes) {
    transform.transform(body.substr(0, piece_bytes), false, result.body);
    body.remove_prefix(piece_bytes);
  }
  transform.transform(body, true, result.body);
  result.outcome = transform.outcome();
  return result;
}

std::string gunzip(std::string_view body) {
  Result<std::string> decoded = decodeContent(ContentCoding::Gzip, body, {});
  EXPECT_TRUE(decoded) << decoded.error().detail;
  return decoded.value_or("");
}

std::string gzip(std::string_view body) { return encodeContent(ContentCoding::Gzip, body); }

TEST(BadgeElement, CarriesEscapedValues) {
  EXPECT_EQ(
      buildBadgeElement(makeTag(), "bm9uY2U="),
      "<script src=\"https://shop.example/__flamegate/b/0a1b.js\" integrity=\"sha384-aGFzaA==\" "
      "nonce=\"bm9uY2U=\" data-pv=\"pv1\" data-id=\"0lx1c2d3abcdefghijkl\"></script>");
  BadgeTag hostile = makeTag();
  hostile.origin = "";
  hostile.prefix = "/\"><script>'&\n\xC3\xA9";
  hostile.integrity = "";
  hostile.pageview = "";
  hostile.profile_id = "";
  EXPECT_EQ(buildBadgeElement(hostile, ""),
            "<script src=\"/&quot;&gt;&lt;script&gt;&#39;&amp;%0A%C3%A9/b/0a1b.js\"></script>");
}

TEST(BadgeTransform, AppendsAfterTheLastByte) {
  const Outcome result = run(makeOptions(ContentCoding::Identity), kPage);
  EXPECT_EQ(result.outcome, InjectOutcome::Injected);
  EXPECT_EQ(result.body, std::string(kPage) + kElement);
}

TEST(BadgeTransform, AppendsToGzipBodies) {
  const Outcome result = run(makeOptions(ContentCoding::Gzip), gzip(kPage));
  EXPECT_EQ(result.outcome, InjectOutcome::Injected);
  EXPECT_EQ(gunzip(result.body), std::string(kPage) + kElement);
}

TEST(BadgeTransform, PassesEveryByteOnWhenItComes) {
  BadgeTransform transform(makeOptions(ContentCoding::Identity));
  std::string out;
  transform.transform(kPage.substr(0, 20), false, out);
  EXPECT_EQ(out, kPage.substr(0, 20));
  transform.transform(kPage.substr(20), false, out);
  EXPECT_EQ(out, kPage);
  transform.transform({}, true, out);
  EXPECT_EQ(out, std::string(kPage) + kElement);
}

TEST(BadgeTransform, PassesFlushedGzipOnAtOnce) {
  ContentEncoder encoder(ContentCoding::Gzip);
  BadgeTransform transform(makeOptions(ContentCoding::Gzip));
  std::string out;
  std::string expected;
  class Collector final : public ByteSink {
   public:
    void onBytes(std::string_view bytes) override { text += bytes; }
    std::string text;
  } seen;
  ContentDecoder client(ContentCoding::Gzip, {});
  const auto pass = [&](std::string_view encoded, bool end) {
    out.clear();
    transform.transform(encoded, end, out);
    ASSERT_TRUE(client.write(out, seen));
  };
  for (int part = 0; part < 5; ++part) {
    const std::string text =
        (part == 0 ? "<html>" : "") + std::string("<p>part ") + std::to_string(part);
    std::string encoded;
    encoder.write(text, true, encoded);
    expected += text;
    pass(encoded, false);
    EXPECT_EQ(seen.text, expected);
  }
  std::string encoded;
  encoder.finish(encoded);
  pass(encoded, true);
  EXPECT_EQ(seen.text, expected + kElement);
  EXPECT_TRUE(client.finish());
}

TEST(BadgeTransform, TakesOneByteAtATime) {
  EXPECT_EQ(run(makeOptions(ContentCoding::Identity), kPage, 1).body,
            std::string(kPage) + kElement);
  const std::string encoded = gzip(kPage);
  for (size_t piece = 1; piece < encoded.size(); ++piece) {
    EXPECT_EQ(gunzip(run(makeOptions(ContentCoding::Gzip), encoded, piece).body),
              std::string(kPage) + kElement)
        << piece;
  }
}

TEST(BadgeTransform, LeavesBodiesThatTakeNoScriptAsTheyAre) {
  const struct {
    std::string_view body;
    InjectOutcome outcome;
  } cases[] = {
      {"", InjectOutcome::NotDocument},
      {"   ", InjectOutcome::NotDocument},
      {"{\"a\":1}", InjectOutcome::NotDocument},
      {"<?xml version=\"1.0\"?><html/>", InjectOutcome::NotDocument},
      {"<div>fragment</div>", InjectOutcome::NotDocument},
      {"<html amp><body></body></html>", InjectOutcome::Amp},
      {"<html><script>open", InjectOutcome::EndsInside},
      {"<html><!-- open", InjectOutcome::EndsInside},
      {"<html><div ", InjectOutcome::EndsInside},
      {"<html><template>", InjectOutcome::EndsInside},
      {"<html><svg>", InjectOutcome::EndsInside},
      {"<html><frameset><frame></frameset></html>", InjectOutcome::Frameset},
      {"<html><select><style></style></select>", InjectOutcome::Ambiguous},
      {"<html><meta charset=iso-2022-jp>", InjectOutcome::Charset},
      {"\xFF\xFE<\0h\0t\0", InjectOutcome::NotDocument},
      {"<html><meta http-equiv=content-security-policy content=\"script-src 'none'\">",
       InjectOutcome::MetaPolicy},
      {"<html><meta http-equiv=content-security-policy content=\"&hearts;\">",
       InjectOutcome::MetaPolicy},
  };
  for (const auto& c : cases) {
    const Outcome plain = run(makeOptions(ContentCoding::Identity), c.body);
    EXPECT_EQ(plain.outcome, c.outcome) << c.body;
    EXPECT_EQ(plain.body, c.body);
    for (size_t piece : {size_t{1}, size_t{3}, SIZE_MAX}) {
      const Outcome coded = run(makeOptions(ContentCoding::Gzip), gzip(c.body), piece);
      EXPECT_EQ(coded.outcome, c.outcome) << c.body;
      EXPECT_EQ(gunzip(coded.body), c.body);
    }
  }
}

TEST(BadgeTransform, UsesANonceThatOnlyAMetaPolicyHas) {
  const std::string page =
      "<html><meta http-equiv=content-security-policy content=\"script-src 'nonce-m'\">";
  EXPECT_EQ(run(makeOptions(ContentCoding::Identity), page).body,
            page + buildBadgeElement(makeTag(), "m"));
  BadgeTransformOptions options = makeOptions(ContentCoding::Identity);
  options.nonce = "h";
  EXPECT_EQ(run(options, page).outcome, InjectOutcome::MetaPolicy);
  EXPECT_EQ(run(options, kPage).body, std::string(kPage) + buildBadgeElement(makeTag(), "h"));
}

TEST(BadgeTransform, SkipsABaseElementOnlyWhenTheAddressIsRelative) {
  const std::string page = "<html><head><base href='https://cdn.example/'></head>";
  BadgeTransformOptions options = makeOptions(ContentCoding::Identity);
  EXPECT_EQ(run(options, page).outcome, InjectOutcome::Injected);
  options.tag.origin = "";
  EXPECT_EQ(run(options, page).outcome, InjectOutcome::RelativeBase);
  EXPECT_EQ(run(options, kPage).outcome, InjectOutcome::Injected);
}

TEST(BadgeTransform, StopsAtTheLimitOfDecodedBytes) {
  for (size_t size : {65535U, 65536U, 65537U}) {
    std::string page(kPage.substr(0, kPage.size() - 15));
    page.append(size - page.size(), 'x');
    for (ContentCoding coding : {ContentCoding::Identity, ContentCoding::Gzip}) {
      BadgeTransformOptions options = makeOptions(coding);
      options.decoded_bytes_max = 65536;
      const bool coded = coding == ContentCoding::Gzip;
      const Outcome result = run(options, coded ? gzip(page) : page, 1000);
      const std::string body = coded ? gunzip(result.body) : result.body;
      if (size <= 65536) {
        EXPECT_EQ(result.outcome, InjectOutcome::Injected) << size;
        EXPECT_EQ(body, page + kElement);
      } else {
        EXPECT_EQ(result.outcome, InjectOutcome::TooLong) << size;
        EXPECT_EQ(body, page);
      }
    }
  }
}

TEST(BadgeTransform, PassesBrokenGzipOnAsItCame) {
  const std::string encoded = gzip(kPage);
  for (size_t cut = 0; cut < encoded.size(); ++cut) {
    const Outcome result =
        run(makeOptions(ContentCoding::Gzip), std::string_view(encoded).substr(0, cut));
    EXPECT_NE(result.outcome, InjectOutcome::Injected) << cut;
    EXPECT_FALSE(decodeContent(ContentCoding::Gzip, result.body, {})) << cut;
  }
  std::string wrong_crc = encoded;
  wrong_crc[wrong_crc.size() - 6] ^= 1;
  const Outcome result = run(makeOptions(ContentCoding::Gzip), wrong_crc);
  EXPECT_EQ(result.outcome, InjectOutcome::BrokenCoding);
  EXPECT_FALSE(decodeContent(ContentCoding::Gzip, result.body, {}));

  EXPECT_EQ(run(makeOptions(ContentCoding::Gzip), kPage).body, kPage);
}

TEST(BadgeTransform, DoesNotAppendBeforeASecondMember) {
  std::string encoded = gzip(kPage);
  encoded += gzip("<p>more");
  const Outcome result = run(makeOptions(ContentCoding::Gzip), encoded);
  EXPECT_EQ(result.outcome, InjectOutcome::BrokenCoding);
  std::string expected(kPage);
  expected += "<p>more";
  EXPECT_EQ(gunzip(result.body), expected);
}

TEST(BadgeTransform, WatchesBytesThatTheCallerPassesOn) {
  BadgeTransform transform(makeOptions(ContentCoding::Identity));
  std::string out;
  transform.observe(kPage);
  EXPECT_EQ(transform.outcome(), InjectOutcome::Pending);
  transform.transform({}, true, out);
  EXPECT_EQ(out, kElement);
}

}  // namespace
}  // namespace flamegate::proxy
