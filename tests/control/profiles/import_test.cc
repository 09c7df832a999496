#include "control/profiles/import.h"

#include <gtest/gtest.h>

#include "control/profiles/compression.h"
#include "control/profiles/convert.h"
#include "control/profiles/export.h"
#include "control/profiles/limits.h"
#include "control/profiles/pprof.h"
#include "control/profiles/summary.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;

std::string exported(std::string_view format, const Profile& profile) {
  return *findExportFormat(format)->write(profile, {});
}

proxy::Result<Profile> imported(std::string_view format, std::string_view text) {
  return findImportFormat(format)->read(text, {});
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

// The same stacks and values as a profile has, by name, or the fault.
std::string collapsedOf(const proxy::Result<Profile>& profile) {
  return profile ? exported("collapsed", *profile) : "fault: " + profile.error().detail;
}

std::string faultOf(std::string_view format, std::string_view text) {
  const auto profile = imported(format, text);
  if (profile) return "";
  EXPECT_EQ(profile.error().code, ErrorCode::Malformed);
  return profile.error().detail;
}

TEST(Import, ChoosesByContentType) {
  EXPECT_TRUE(importProfile("Text/X-Collapsed; charset=utf-8", "a;b 1\n"));
  EXPECT_TRUE(importProfile("application/x-pprof", encodePprof(requestProfile())));
  const auto unknown = importProfile("application/x-jfr", "FLR");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::Unsupported);
  EXPECT_FALSE(importProfile("", "a 1"));
}

TEST(Import, TellsFormatsByTheirBytes) {
  const Profile profile = requestProfile();
  for (const char* format : {"pprof", "collapsed", "speedscope", "cpuprofile"}) {
    EXPECT_EQ(detectImportFormat(exported(format, profile))->name, format);
  }
  EXPECT_EQ(detectImportFormat(encodePprofPlain(profile))->name, "pprof");
  EXPECT_EQ(detectImportFormat(R"({"version":1.2,"mode":"wall","interval":1000})")->name,
            "stackprof");
  EXPECT_EQ(detectImportFormat("{}"), nullptr);
  EXPECT_EQ(detectImportFormat(""), nullptr);
}

TEST(ImportCollapsed, TakesTheLastTokenAsTheCount) {
  EXPECT_EQ(
      collapsedOf(imported(
          "collapsed", "a;b c;d 10\na;;b 1\r\n[JIT app cache];x\t2 \na;b c;d 5\nz 0\n;a 3\n 4")),
      " 4\na;b c;d 15\na;;b 1\n[JIT app cache];x 2\nz 0\n;a 3\n");
}

TEST(ImportCollapsed, CountsBadLinesAndKeepsTheOthers) {
  const auto profile = imported("collapsed",
                                "\xEF\xBB\xBF"
                                "a 1\na 1e3\na -5\na 1.5\na 99999999999999999999\n"
                                "none\n\n   \nb 2\n");
  ASSERT_TRUE(profile);
  EXPECT_EQ(exported("collapsed", *profile), "a 1\nb 2\n");
  EXPECT_EQ(describeLoss(profile->loss), "bad_lines=5 (first: line 2)");
  EXPECT_EQ(faultOf("collapsed", "\nnothing here\n"),
            "no line ends in a count; the first without one is line 2");
  EXPECT_EQ(collapsedOf(imported("collapsed", "")), "");
}

TEST(ImportCollapsed, TellsAByteOrderMarkFromANameThatBeginsWithOne) {
  const auto profile = imported("collapsed", "\n\uFEFFa 1\n");
  EXPECT_EQ(collapsedOf(imported("collapsed", exported("collapsed", *profile))), "\n\uFEFFa 1\n");
}

TEST(ImportCollapsed, AddsTimeWhenThePeriodIsKnown) {
  const auto profile = findImportFormat("collapsed")->read("a 3\na 2\n", {.period_ns = 1000});
  ASSERT_TRUE(profile);
  EXPECT_EQ(describeSamples(*profile),
            (std::vector<std::string>{"0   /a(:0)@0 samples=5count wall=5000nanoseconds"}));
}

TEST(ImportCollapsed, SurvivesOneLineOfAMegabyte) {
  const auto profile =
      imported("collapsed",
               joined({std::string(1 << 20, 'a'), ";b 1\n", std::string(1 << 20, ';'), " 2\n"}));
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->loss.cut_strings, 1U);
  EXPECT_EQ(profile->loss.truncated_stacks, 1U);
}

TEST(ImportCollapsed, GivesBackWhatWasExportedAtEveryTruncation) {
  const std::string text = exported("collapsed", requestProfile());
  EXPECT_EQ(collapsedOf(imported("collapsed", text)), text);
  for (size_t size = 0; size < text.size(); ++size) {
    const auto profile = imported("collapsed", std::string_view(text).substr(0, size));
    EXPECT_TRUE(profile || profile.error().code == ErrorCode::Malformed);
  }
}

TEST(ImportSpeedscope, GivesBackWhatWasExported) {
  const Profile profile = requestProfile();
  const auto again = imported("speedscope", exported("speedscope", profile));
  EXPECT_EQ(collapsedOf(again), exported("collapsed", profile));
  ASSERT_EQ(again->threads.size(), 3U);
  EXPECT_EQ(again->text(again->threads[1]), "main");
}

TEST(ImportSpeedscope, ReadsEventedProfiles) {
  EXPECT_EQ(collapsedOf(imported("speedscope", R"({"shared":{"frames":[{"name":"a"},{"name":"b"}]},
      "profiles":[{"type":"evented","name":"t","unit":"milliseconds","startValue":0,"endValue":9,
      "events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2},{"type":"C","frame":1,"at":4.5},
      {"type":"C","frame":0,"at":8}]}]})")),
            "a 5500000\na;b 2500000\n");
}

TEST(ImportSpeedscope, SaysWhatIsWrong) {
  const auto document = [](std::string_view profile) {
    return joined({R"({"shared":{"frames":[{"name":"a"}]},"profiles":[)", profile, "]}"});
  };
  EXPECT_EQ(faultOf("speedscope", "{"), "no JSON from byte 2 on");
  EXPECT_EQ(faultOf("speedscope", "[]"), "shared.frames is not a list");
  EXPECT_EQ(faultOf("speedscope", R"({"shared":{"frames":[3]}})"), "a frame is not an object");
  EXPECT_EQ(faultOf("speedscope", R"({"shared":{"frames":[]}})"), "profiles is not a list");
  EXPECT_EQ(faultOf("speedscope", document("{}")), "a profile has no unit that speedscope knows");
  EXPECT_EQ(faultOf("speedscope", document(R"({"unit":"none","type":"x"})")),
            "a profile is neither sampled nor evented");
  EXPECT_EQ(faultOf("speedscope",
                    document(R"({"unit":"none","type":"sampled","samples":[[0]],"weights":[]})")),
            "a profile's samples and weights are not two lists of one length");
  EXPECT_EQ(faultOf("speedscope",
                    document(R"({"unit":"none","type":"sampled","samples":[[1]],"weights":[1]})")),
            "a stack names a frame that is not in shared.frames");
  EXPECT_EQ(
      faultOf(
          "speedscope",
          document(R"({"unit":"none","type":"evented","events":[{"type":"C","frame":0,"at":1}]})")),
      "an event closes a frame that is not the innermost");
}

TEST(ImportCpuprofile, GivesBackTheThreadThatWasExported) {
  const auto again = imported("cpuprofile", exported("cpuprofile", requestProfile()));
  EXPECT_EQ(collapsedOf(again),
            "handler;query 4000000\nhandler;render 4000000\nhandler;render;escape 2000000\n");
}

TEST(ImportCpuprofile, MakesPseudoNodesStates) {
  const auto profile = imported("cpuprofile", R"json({"nodes":[
      {"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3,4]},
      {"id":2,"callFrame":{"functionName":"(idle)"}},
      {"id":3,"callFrame":{"functionName":"(garbage collector)"}},
      {"id":4,"callFrame":{"functionName":"","url":"app.js","lineNumber":6}}],
      "startTime":100,"endTime":200,"samples":[2,3,4],"timeDeltas":[0,10,-5]})json");
  ASSERT_TRUE(profile) << profile.error().detail;
  EXPECT_EQ(describeSamples(*profile),
            (std::vector<std::string>{
                "0  waiting  samples=1count wall=10000nanoseconds",
                "0  gc /(garbage collector)(:0)@0 samples=1count wall=0nanoseconds",
                "0  running /(anonymous)(app.js:7)@0 samples=1count wall=95000nanoseconds"}));
  EXPECT_EQ(profile->duration_ns, 100'000);
}

TEST(ImportCpuprofile, RefusesBrokenLinks) {
  EXPECT_EQ(faultOf("cpuprofile", "{}"), "nodes is not a list");
  EXPECT_EQ(faultOf("cpuprofile", R"({"nodes":[{"id":1},{"id":1}]})"), "node 1 is there twice");
  EXPECT_EQ(faultOf("cpuprofile", R"({"nodes":[{"id":1,"children":[9]}]})"),
            "a node's child is not among the nodes");
  EXPECT_EQ(faultOf("cpuprofile", R"({"nodes":[{"id":1}],"samples":[2],"timeDeltas":[0]})"),
            "a sample names a node that is not among the nodes");
  EXPECT_TRUE(imported("cpuprofile", R"({"nodes":[{"id":1,"children":[2]},{"id":2,"children":[1]}],
      "samples":[1],"timeDeltas":[0]})"));
}

constexpr std::string_view kStackprof = R"json({"version":1.2,"mode":"wall","interval":1000,
    "samples":4,"missed_samples":2,
    "frames":{"10":{"name":"App#call","file":"app.rb","line":3,"samples":1},
              "20":{"name":"(garbage collection)","file":"","line":null,"samples":3}},)json";

TEST(ImportStackprof, KeepsRawSamplesWithTheirTimes) {
  const auto profile = imported(
      "stackprof",
      joined({kStackprof, R"("raw":[1,10,2,2,10,20,1],"raw_timestamp_deltas":[900,1100,1000]})"}));
  ASSERT_TRUE(profile) << profile.error().detail;
  EXPECT_EQ(describeSamples(*profile),
            (std::vector<std::string>{
                "0  running /App#call(app.rb:3)@0 samples=1count wall=900000nanoseconds",
                "0  running /App#call(app.rb:3)@0 samples=1count wall=1100000nanoseconds",
                "0  gc /App#call(app.rb:3)@0/(garbage collection)(:0)@0 samples=1count "
                "wall=1000000nanoseconds"}));
  EXPECT_EQ(profile->text(profile->comments.at(0)), "stackprof: missed_samples=2");
}

TEST(ImportStackprof, UsesTotalsWithoutRawSamples) {
  EXPECT_EQ(collapsedOf(imported("stackprof", joined({kStackprof, R"("x":0})"}))),
            "App#call 1000000\n(garbage collection) 3000000\n");
}

TEST(ImportStackprof, SaysWhatIsWrong) {
  EXPECT_EQ(faultOf("stackprof", "{}"), "frames is not an object");
  EXPECT_EQ(faultOf("stackprof", R"({"frames":{},"raw":[1]})"), "raw ends within a stack");
  EXPECT_EQ(faultOf("stackprof", R"({"frames":{},"raw":[5,1,1]})"), "raw ends within a stack");
  EXPECT_EQ(faultOf("stackprof", R"({"frames":{},"raw":[1,7,1]})"),
            "raw names a frame that is not in frames");
}

TEST(ImportJson, RefusesDocumentsOfTooManyValues) {
  const auto profile = imported("speedscope", std::string(5'000'000, '['));
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(faultOf("speedscope", std::string(1'000'000, '[')), "no JSON from byte 1000001 on");
}

TEST(Convert, TellsTheFormatsByNameEndingOrBytes) {
  const Profile profile = requestProfile();
  const std::string collapsed = exported("collapsed", profile);
  const std::string pprof = exported("pprof", profile);
  EXPECT_EQ(convertProfile({.bytes = pprof, .to = "collapsed"})->bytes, collapsed);
  EXPECT_EQ(convertProfile({.bytes = pprof, .in_name = "x.pb.gz", .out_name = "y.folded"})->bytes,
            collapsed);
  const std::string speedscope = deflateGzip(exported("speedscope", profile));
  EXPECT_EQ(
      convertProfile({.bytes = speedscope, .in_name = "x.json", .out_name = "y.folded"})->bytes,
      collapsed);
  EXPECT_EQ(convertProfile({.bytes = "a 1\nb\n", .from = "collapsed", .to = "collapsed"})->lost,
            "bad_lines=1 (first: line 2)");
}

TEST(Convert, NamesTheFormatsItKnows) {
  const auto to = convertProfile({.bytes = "a 1", .to = "gif"});
  ASSERT_FALSE(to);
  EXPECT_EQ(to.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(to.error().detail,
            "the format to write is not known; there are pprof, speedscope, collapsed, callgrind, "
            "pstats, "
            "chrome, cpuprofile, svg, html, json");
  EXPECT_EQ(convertProfile({.bytes = "a 1", .from = "jfr", .to = "svg"}).error().detail,
            "the format to read is not known; there are pprof, collapsed, speedscope, cpuprofile, "
            "stackprof");
}

}  // namespace
}  // namespace flamegate::control
