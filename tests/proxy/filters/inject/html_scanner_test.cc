#include "proxy/filters/inject/html_scanner.h"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace flamegate::proxy {

inline void PrintTo(EndContext context, std::ostream* out) { *out << static_cast<int>(context); }
inline void PrintTo(DocumentStart start, std::ostream* out) { *out << static_cast<int>(start); }

namespace {

constexpr std::string_view kPage = "<!doctype html><html><head><title>t</title></head><body>";

struct Ending {
  std::string_view tail;  // after kPage
  EndContext expected;
};

constexpr Ending kEndings[] = {
    // complete documents, and endings in which browsers do run an appended script
    {"</body></html>", EndContext::Plain},
    {"</body></html>\n", EndContext::Plain},
    {"</html></html>", EndContext::Plain},
    {"", EndContext::Plain},
    {"text", EndContext::Plain},
    {"a < b", EndContext::Plain},
    {"<p>unclosed", EndContext::Plain},
    {"<!-- closed -->", EndContext::Plain},
    {"<!---->", EndContext::Plain},
    {"<!-->", EndContext::Plain},
    {"<!--->", EndContext::Plain},
    {"<!-- a --!>", EndContext::Plain},
    {"<!-- a ---->", EndContext::Plain},
    {"<!--<!-->", EndContext::Plain},
    {"<!-- <!-- -->", EndContext::Plain},
    {"<![if !IE]><p><![endif]>", EndContext::Plain},
    {"<?php ?>", EndContext::Plain},
    {"</>", EndContext::Plain},
    {"<table><tr><td>", EndContext::Plain},
    {"<select><option>a", EndContext::Plain},
    {"<script>var a = '<b>';</script>", EndContext::Plain},
    {"<script>a</script >", EndContext::Plain},
    {"<script>a</SCRIPT\n>", EndContext::Plain},
    {"<script>a</script/>", EndContext::Plain},
    {"<script><!-- a</script>", EndContext::Plain},
    {"<script><!-- <script> </script> --></script>", EndContext::Plain},
    {"<script><!--<script></script></script>", EndContext::Plain},
    {"<script><!--></script>", EndContext::Plain},
    {"<style>a > b {}</style>", EndContext::Plain},
    {"<textarea></title></textarea>", EndContext::Plain},
    {"<noscript><img></noscript>", EndContext::Plain},
    {"<iframe></iframe>", EndContext::Plain},
    {"<template><p></template>", EndContext::Plain},
    {"<template><template></template></template>", EndContext::Plain},
    {"<svg><path d='a'/></svg>", EndContext::Plain},
    {"<svg/>", EndContext::Plain},
    {"<svg><title>a</title><style>a<b</style></svg>", EndContext::Plain},
    {"<svg><g><path></g></svg>", EndContext::Plain},
    {"<svg><path/></path></svg>", EndContext::Plain},
    {"<svg><svg></svg></svg>", EndContext::Plain},
    {"<svg><![CDATA[ <p> </svg> ]]></svg>", EndContext::Plain},
    {"<svg><foreignObject><div>a</div></foreignObject></svg>", EndContext::Plain},
    {"<svg><foreignObject><script>'</svg>'</script></foreignObject></svg>", EndContext::Plain},
    {"<svg><div>", EndContext::Plain},
    {"<svg><g><font color=red>", EndContext::Plain},
    {"<math><mi>x</mi></math>", EndContext::Plain},
    {"<a title='>'>", EndContext::Plain},
    {"<a title=\"'>\">", EndContext::Plain},
    {"<a title=a'b>", EndContext::Plain},
    {"<a =b>", EndContext::Plain},
    {"<a b = 'c' / d>", EndContext::Plain},
    {"<body onload='x'>", EndContext::Plain},
    // inside a tag or declaration
    {"<", EndContext::Tag},
    {"</", EndContext::Tag},
    {"<di", EndContext::Tag},
    {"<div ", EndContext::Tag},
    {"<div class", EndContext::Tag},
    {"<div class=", EndContext::Tag},
    {"<div class=\"a>", EndContext::Tag},
    {"<div class='a>", EndContext::Tag},
    {"<div class=a", EndContext::Tag},
    {"<div /", EndContext::Tag},
    {"</div", EndContext::Tag},
    {"<!", EndContext::Tag},
    {"<!-", EndContext::Tag},
    {"<!doctype html", EndContext::Tag},
    // comments
    {"<!--", EndContext::Comment},
    {"<!-- open", EndContext::Comment},
    {"<!-- a -- >", EndContext::Comment},
    {"<!-- a -->b<!-- c --", EndContext::Comment},
    {"<!--!>", EndContext::Comment},
    {"<!-- a --!", EndContext::Comment},
    {"<!bogus", EndContext::Comment},
    {"<?php", EndContext::Comment},
    {"</ a", EndContext::Comment},
    {"<![CDATA[ a", EndContext::Comment},
    {"<svg><![CDATA[ a > ]] >", EndContext::Comment},
    // text elements
    {"<script>", EndContext::Text},
    {"<script>var s = '</body></html>'", EndContext::Text},
    {"<script/>", EndContext::Text},
    {"<script></scriptx>", EndContext::Text},
    {"<script></ script>", EndContext::Text},
    {"<script><!-- <script> </script>", EndContext::Text},
    {"<script><!-- <script> </script> -->", EndContext::Text},
    {"<script><!-", EndContext::Text},
    {"<style>", EndContext::Text},
    {"<title>", EndContext::Text},
    {"<textarea>", EndContext::Text},
    {"<xmp>", EndContext::Text},
    {"<iframe>", EndContext::Text},
    {"<noembed>", EndContext::Text},
    {"<noframes>", EndContext::Text},
    {"<noscript>", EndContext::Text},
    {"<plaintext>", EndContext::Text},
    {"<plaintext></plaintext>", EndContext::Text},
    {"<textarea></textare", EndContext::Text},
    // templates and foreign content
    {"<template>", EndContext::Template},
    {"<template/>", EndContext::Template},
    {"<template></svg>", EndContext::Template},
    {"<template><svg>", EndContext::Template},
    {"<svg>", EndContext::Foreign},
    {"<svg><style>", EndContext::Foreign},
    {"<svg><script>", EndContext::Foreign},
    {"<svg><foreignObject>", EndContext::Foreign},
    {"<svg><desc><p>", EndContext::Foreign},
    {"<math>", EndContext::Foreign},
    {"<math><mi>x", EndContext::Foreign},
    {"<frameset>", EndContext::Frameset},
    // markup that browsers may read differently
    {"<select><style></style>", EndContext::Ambiguous},
    {"<math><mtext><style></style></mtext></math>", EndContext::Ambiguous},
    {"<svg><foreignObject><div></foreignObject></svg>", EndContext::Ambiguous},
    {"<x-a><svg></x-a>", EndContext::Ambiguous},
    {"<svg><template></template></svg>", EndContext::Ambiguous},
};

TEST(HtmlScanner, TellsWhatADocumentEndsIn) {
  for (const Ending& ending : kEndings) {
    HtmlScanner scanner;
    scanner.scan(kPage);
    scanner.scan(ending.tail);
    EXPECT_EQ(scanner.endContext(), ending.expected) << ending.tail;
    EXPECT_EQ(scanner.start(), DocumentStart::Document);
  }
}

TEST(HtmlScanner, GivesTheSameAnswersForOneByteAtATime) {
  for (const Ending& ending : kEndings) {
    HtmlScanner scanner;
    const std::string page = std::string(kPage).append(ending.tail);
    for (char c : page) scanner.scan({&c, 1});
    EXPECT_EQ(scanner.endContext(), ending.expected) << ending.tail;
  }
}

TEST(HtmlScanner, GivesTheSameAnswersForEveryCutInTwo) {
  for (const Ending& ending : kEndings) {
    const std::string page = std::string(kPage).append(ending.tail);
    for (size_t cut = 0; cut <= page.size(); ++cut) {
      HtmlScanner scanner;
      scanner.scan(std::string_view(page).substr(0, cut));
      scanner.scan(std::string_view(page).substr(cut));
      ASSERT_EQ(scanner.endContext(), ending.expected) << ending.tail << " cut at " << cut;
    }
  }
}

TEST(HtmlScanner, TellsDocumentsFromOtherThings) {
  const struct {
    std::string_view text;
    DocumentStart expected;
  } cases[] = {
      {"<!DOCTYPE html>", DocumentStart::Document},
      {"<!doctype html>", DocumentStart::Document},
      {"<!-- c --><div>", DocumentStart::Document},
      {"<html>", DocumentStart::Document},
      {"<HTML lang=en>", DocumentStart::Document},
      {"<head>", DocumentStart::Document},
      {"<body>", DocumentStart::Document},
      {"\xEF\xBB\xBF<html>", DocumentStart::Document},
      {" \r\n\t\f<html>", DocumentStart::Document},
      {"\xEF\xBB\xBF \n<html>", DocumentStart::Document},
      {"", DocumentStart::Unknown},
      {"  \n", DocumentStart::Unknown},
      {"<", DocumentStart::Unknown},
      {"<!", DocumentStart::Unknown},
      {"<html", DocumentStart::Unknown},
      {"{\"a\":\"<html>\"}", DocumentStart::Other},
      {"[]", DocumentStart::Other},
      {"<div>", DocumentStart::Other},
      {"<header>", DocumentStart::Other},
      {"</html>", DocumentStart::Other},
      {"<?xml version=\"1.0\"?><html>", DocumentStart::Other},
      {"<![CDATA[", DocumentStart::Other},
      {"<!element>", DocumentStart::Other},
      {"\xEF\xBB<html>", DocumentStart::Other},
      {"\xEF\xBB\xBF\xEF\xBB\xBF<html>", DocumentStart::Other},
      {"< html>", DocumentStart::Other},
      {"\xFF\xFE<\0h\0", DocumentStart::Other},
  };
  for (const auto& c : cases) {
    HtmlScanner scanner;
    scanner.scan(c.text);
    EXPECT_EQ(scanner.start(), c.expected) << c.text;
    HtmlScanner bytewise;
    for (char byte : c.text) bytewise.scan({&byte, 1});
    EXPECT_EQ(bytewise.start(), c.expected) << c.text;
  }
}

TEST(HtmlScanner, FindsAmpDocuments) {
  for (std::string_view text : {"<html amp>", "<html \xE2\x9A\xA1>", "<html lang=en AMP=''>",
                                "<html \xE2\x9A\xA1\xEF\xB8\x8F>", "<html amp4ads>",
                                "<html \xE2\x9A\xA1"
                                "4email>",
                                "<!doctype html><html amp lang=en>"}) {
    HtmlScanner scanner;
    scanner.scan(text);
    EXPECT_TRUE(scanner.isAmp()) << text;
  }
  for (std::string_view text :
       {"<html>", "<html data-amp>", "<html class=amp>", "<html ample>", "<html><div amp>"}) {
    HtmlScanner scanner;
    scanner.scan(text);
    EXPECT_FALSE(scanner.isAmp()) << text;
  }
}

TEST(HtmlScanner, FindsUnsafeEncodings) {
  for (std::string_view text :
       {"\xFF\xFE<\0", "\xFE\xFF\0<", "<head><meta charset=ISO-2022-JP>",
        "<head><meta charset=\" iso-2022-jp \">",
        "<head><meta http-equiv=Content-Type content='text/html; charset=iso-2022-jp'>"}) {
    HtmlScanner scanner;
    scanner.scan(text);
    EXPECT_TRUE(scanner.hasUnsafeCharset()) << text;
  }
  for (std::string_view text :
       {"<head><meta charset=utf-8>", "<head><meta charset=shift_jis>", "<p>\xFF\xFE</p>",
        "<head><meta http-equiv=Content-Type content='text/html; charset=windows-1252'>"}) {
    HtmlScanner scanner;
    scanner.scan(text);
    EXPECT_FALSE(scanner.hasUnsafeCharset()) << text;
  }
}

TEST(HtmlScanner, FindsBaseElements) {
  HtmlScanner with;
  with.scan("<html><head><base href='https://other.example/'>");
  EXPECT_TRUE(with.hasBase());
  HtmlScanner without;
  without.scan("<html><head><base target=_blank><!--<base href=a>-->");
  EXPECT_FALSE(without.hasBase());
}

TEST(HtmlScanner, ReadsPoliciesOfMetaElements) {
  HtmlScanner scanner;
  scanner.scan(
      "<html><head>"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'self'\">"
      "<META content='script-src &#39;none&#39;&#x3b; img-src *' "
      "HTTP-EQUIV=content-security-policy>"
      "<meta http-equiv=Content-Security-Policy content=\"report-uri /r?a=1&b=2&amp;c=3\" "
      "content=x>"
      "<meta http-equiv=Content-Security-Policy-Report-Only content=\"script-src a\">"
      "<meta name=csp content=\"script-src b\">"
      "<script>'<meta http-equiv=Content-Security-Policy content=c>'</script>"
      "<template><meta http-equiv=Content-Security-Policy content=d></template>");
  const std::vector<std::string> expected = {"script-src 'self'", "script-src 'none'; img-src *",
                                             "report-uri /r?a=1&b=2&c=3"};
  EXPECT_EQ(scanner.meta().policies(), expected);
  EXPECT_FALSE(scanner.meta().hasUnreadablePolicy());
}

TEST(HtmlScanner, SaysSoWhenAMetaPolicyCannotBeRead) {
  HtmlScanner unknown_reference;
  unknown_reference.scan("<meta http-equiv=Content-Security-Policy content='script-src &nbsp;x'>");
  EXPECT_TRUE(unknown_reference.meta().hasUnreadablePolicy());

  HtmlScanner too_long;
  too_long.scan("<meta http-equiv=Content-Security-Policy content='" +
                std::string(MetaFacts::kValueMax + 1, 'a') + "'>");
  EXPECT_TRUE(too_long.meta().hasUnreadablePolicy());

  HtmlScanner just_fits;
  just_fits.scan("<meta http-equiv=Content-Security-Policy content='" +
                 std::string(MetaFacts::kValueMax, 'a') + "'>");
  EXPECT_FALSE(just_fits.meta().hasUnreadablePolicy());

  HtmlScanner too_many;
  for (size_t i = 0; i <= MetaFacts::kPoliciesMax; ++i) {
    too_many.scan("<meta http-equiv=Content-Security-Policy content=a>");
  }
  EXPECT_TRUE(too_many.meta().hasUnreadablePolicy());
}

TEST(HtmlScanner, BecomesAmbiguousWhenForeignContentIsTooDeep) {
  HtmlScanner scanner;
  scanner.scan("<html><svg>");
  for (int i = 0; i < 300; ++i) scanner.scan("<g>");
  for (int i = 0; i < 300; ++i) scanner.scan("</g>");
  scanner.scan("</svg>");
  EXPECT_EQ(scanner.endContext(), EndContext::Ambiguous);
}

TEST(HtmlScanner, TakesNamesOfAnyLength) {
  HtmlScanner scanner;
  const std::string name(100000, 'x');
  scanner.scan("<html><" + name + " " + name + "=" + name + "></" + name + ">");
  EXPECT_EQ(scanner.endContext(), EndContext::Plain);
}

}  // namespace
}  // namespace flamegate::proxy
