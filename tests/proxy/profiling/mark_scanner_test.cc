#include "proxy/profiling/mark_scanner.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "proxy/profiling/own_cookies.h"
#include "proxy/profiling/token_carriers.h"
#include "proxy/profiling/trigger.h"
#include "tests/proxy/profiling/heads.h"

namespace flamegate::proxy {
namespace {

const agent::SessionKeyRing kKeys(
    agent::SessionKeys::derive("the session secret, 32 bytes or more"));

// The slow and exact look: whether anything in the head concerns the profiler.
bool isMarked(const RequestHead& head, const config::Trigger& trigger) {
  const Marks marks = findMarks(head, TriggerContext{trigger, "/__flamegate", std::nullopt, kKeys});
  bool token_pair = false;
  forEachPair(head.query(), [&](std::string_view, std::string_view name, std::string_view value) {
    token_pair |= !value.empty() && decodesTo(name, kTokenPairName);
  });
  return marks.query.verb != Verb::None || marks.query.contradictory || marks.header ||
         marks.referer || !marks.session_id.empty() || marks.off || marks.path || token_pair ||
         head.fields.find(kTokenFieldName) != nullptr;
}

TEST(MarkScanner, SaysNoToOrdinaryRequests) {
  const MarkScanner scanner{config::Trigger()};
  EXPECT_FALSE(scanner.mayBeMarked(TestHead("/").request));
  EXPECT_FALSE(scanner.mayBeMarked(
      TestHead("/catalogue/items?page=2&sort=price&q=red+shoes%20x",
               {{"Host", "shop.example.com"},
                {"User-Agent", "Mozilla/5.0"},
                {"Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"},
                {"Referer", "http://shop.example.com/catalogue?page=1&sort=price&dir=up"},
                {"Cookie",
                 "sid=YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo; theme=dark; cart=0123456789abcdef"}})
          .request));
}

TEST(MarkScanner, SaysYesToEveryKindOfMark) {
  config::Trigger trigger;
  trigger.path_segment = true;
  const MarkScanner scanner(trigger);
  for (const char* target :
       {"/?pp=skip", "/?%70%70=skip", "/?%70p=skip", "/?p%70=skip", "/?fgtoken=x", "/?%66gtoken=x",
        "/?fgtoke%6e=x", "/?fgtoke%6E=x", "/?fgtok%65n=x", "/++profile++show",
        "/a/long/path/that/goes/on?with=many&pairs=before&the=one&pp=disable"}) {
    EXPECT_TRUE(scanner.mayBeMarked(TestHead(target).request)) << target;
  }
  const Lines lines = {{"X-Rack-Mini-Profiler", "async-flamegraph"},
                       {"Flamegate-Token", "fg1.x"},
                       {"Authorization", "bearer  fg1.x.y"},
                       {"Cookie", "flamegate=x"},
                       {"Cookie", "__Host-flamegate=x"},
                       {"Cookie", "a=b; c=d; e=f; flamegate-off=1"},
                       {"Referer", "http://h/?pp=async-flamegraph"},
                       {"Referer", "http://h/?pp=async-%66%6c%61%6d%65%67raph"}};
  for (const auto& line : lines) {
    EXPECT_TRUE(scanner.mayBeMarked(TestHead("/", {line}).request))
        << line.first << ": " << line.second;
  }
}

TEST(MarkScanner, FindsCookiesAtEveryOffsetAndLength) {
  const MarkScanner scanner{config::Trigger()};
  for (size_t before = 0; before < 80; ++before) {
    for (size_t after = 0; after < 40; ++after) {
      const std::string cookie = std::string(before, 'x') + "flamegate" + std::string(after, 'y');
      ASSERT_TRUE(scanner.mayBeMarked(TestHead("/", {{"Cookie", cookie}}).request))
          << before << ' ' << after;
      const std::string target = "/" + std::string(before, 'x') + "?pp=" + std::string(after, 'y');
      ASSERT_TRUE(scanner.mayBeMarked(TestHead(target).request)) << before << ' ' << after;
    }
  }
}

TEST(MarkScanner, FindsReferersAtEveryOffsetAndLength) {
  const MarkScanner scanner{config::Trigger()};
  for (size_t before = 0; before < 80; ++before) {
    for (size_t after = 0; after < 40; ++after) {
      const std::string url = "http://h/" + std::string(before, 'x') + "?pp=async-";
      const std::string tail = std::string(after, 'y');
      ASSERT_TRUE(
          scanner.mayBeMarked(TestHead("/", {{"Referer", url + "flamegraph" + tail}}).request));
      ASSERT_TRUE(
          scanner.mayBeMarked(TestHead("/", {{"Referer", url + "%66%6camegraph" + tail}}).request));
    }
  }
}

TEST(MarkScanner, LooksAtEveryFieldThatRepeats) {
  const MarkScanner scanner{config::Trigger()};
  const std::string plain(60, 'x');
  for (const std::string field : {"Cookie", "Referer"}) {
    const std::string marked = "http://h/?pp=async-flamegraph" + plain;
    EXPECT_TRUE(scanner.mayBeMarked(TestHead("/", {{field, plain}, {field, marked}}).request));
    EXPECT_TRUE(scanner.mayBeMarked(TestHead("/", {{field, marked}, {field, plain}}).request));
    EXPECT_FALSE(scanner.mayBeMarked(TestHead("/", {{field, plain}, {field, plain}}).request));
  }
}

TEST(MarkScanner, FindsTheShortestMarks) {
  config::Trigger trigger;
  trigger.query = "p";
  const MarkScanner scanner(trigger);
  for (const char* target :
       {"?p=skip", "/?p=skip", "/?p=help", "/a/b/c?p=skip", "/?a&p=skip&b=c"}) {
    EXPECT_TRUE(scanner.mayBeMarked(TestHead(target).request)) << target;
  }
  EXPECT_TRUE(scanner.mayBeMarked(TestHead("/", {{"Cookie", "flamegate-off=1"}}).request));
  EXPECT_FALSE(scanner.mayBeMarked(TestHead("/", {{"Cookie", "lang=de"}}).request));
}

TEST(MarkScanner, KnowsEverySpellingOfAName) {
  for (const std::string& name :
       {std::string("p"), std::string("pp"), std::string("my name"), std::string("x=y"),
        std::string("\xc3\xbc"), std::string("a "), std::string("__prof")}) {
    config::Trigger trigger;
    trigger.query = name;
    const MarkScanner scanner(trigger);
    for (unsigned spelling = 0; spelling < (1U << (2 * name.size())) && spelling < 4096;
         ++spelling) {
      std::string written;
      for (size_t i = 0; i < name.size(); ++i) {
        const auto byte = static_cast<unsigned char>(name[i]);
        char escape[4];
        const unsigned form = (spelling >> (2 * i)) & 3U;
        std::snprintf(escape, sizeof escape, form == 1 ? "%%%02x" : "%%%02X",
                      static_cast<unsigned>(byte));
        written +=
            form == 0 && name[i] != '=' ? (name[i] == ' ' ? "+" : std::string(1, name[i])) : escape;
      }
      const TestHead head("/?" + written + "=skip");
      ASSERT_TRUE(isMarked(head.request, trigger)) << written;
      ASSERT_TRUE(scanner.mayBeMarked(head.request)) << written;
    }
  }
}

// Random heads made of the pieces that matter: the scanner never says no to a marked one.
TEST(MarkScanner, NeverMissesAMark) {
  std::mt19937 random(20261130);
  const auto pick = [&random](size_t size) {
    return std::uniform_int_distribution<size_t>(0, size - 1)(random);
  };
  const std::vector<std::string> pieces = {"p",
                                           "pp",
                                           "pp=",
                                           "=",
                                           "&",
                                           "?",
                                           "%70",
                                           "%70%70",
                                           "%",
                                           "fgtoken",
                                           "fgtoken=",
                                           "flame",
                                           "fl",
                                           "eg",
                                           "me",
                                           "meg",
                                           "gate",
                                           "flameg",
                                           "flamegate=",
                                           "; ",
                                           "-off=1",
                                           "skip",
                                           "help",
                                           "async-",
                                           "flamegraph",
                                           "a",
                                           "=async-flamegraph",
                                           "/",
                                           "x=1",
                                           "%6d",
                                           "am",
                                           "http://shop.example.com/",
                                           "#",
                                           "+",
                                           "flamegate-off=1",
                                           "/++profile++",
                                           "show",
                                           "&pp=skip",
                                           "?pp=async-flamegraph",
                                           "%66%6C",
                                           "disable"};
  const auto text = [&](size_t pieces_max) {
    std::string made;
    for (size_t i = pick(pieces_max + 1); i > 0; --i) made += pieces[pick(pieces.size())];
    return made;
  };
  size_t marked = 0;
  for (int round = 0; round < 200'000; ++round) {
    config::Trigger trigger;
    trigger.path_segment = pick(4) == 0;
    const MarkScanner scanner(trigger);
    TestHead head("/" + text(8));
    if (pick(2) == 0) head.add("Cookie", text(12));
    if (pick(2) == 0) head.add("Referer", "http://shop.example.com/" + text(6));
    if (pick(16) == 0) head.add("X-Rack-Mini-Profiler", text(2));
    if (pick(16) == 0) head.add("Cookie", text(3));
    if (!isMarked(head.request, trigger)) continue;
    ++marked;
    ASSERT_TRUE(scanner.mayBeMarked(head.request)) << head.request.target;
  }
  EXPECT_GT(marked, 10'000U) << "the pieces no longer make marked heads";
}

}  // namespace
}  // namespace flamegate::proxy
