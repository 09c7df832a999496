#include "control/profiles/export.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/profiles/builder.h"
#include "control/profiles/collapsed_text.h"
#include "control/profiles/compression.h"
#include "control/profiles/summary.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using nlohmann::json;

const ExportContext kContext{"01hzy8abcdefghij2345", "GET /homepage"};

std::string exported(std::string_view format, const Profile& profile) {
  const auto text = findExportFormat(format)->write(profile, kContext);
  return text ? *text : "fault: " + text.error().detail;
}

TEST(ExportFormats, AreFoundByNameAndByFile) {
  for (const ExportFormat& format : exportFormats()) {
    EXPECT_EQ(findExportFormat(format.name), &format);
    EXPECT_EQ(findExportFormatOfFile(exportFileName(format, kContext)), &format);
  }
  EXPECT_EQ(findExportFormat("PPROF"), nullptr);
  EXPECT_EQ(findExportFormat(""), nullptr);
  EXPECT_EQ(findExportFormatOfFile("dir.svg/picture.gif"), nullptr);
  EXPECT_EQ(findExportFormatOfFile("out/stacks.folded")->name, "collapsed");
  EXPECT_EQ(findExportFormatOfFile("/tmp/callgrind.out.17")->name, "callgrind");
}

TEST(ExportFileName, TellsWhatTheFileHolds) {
  const auto name = [](std::string_view format, const ExportContext& context) {
    return exportFileName(*findExportFormat(format), context);
  };
  EXPECT_EQ(name("speedscope", kContext),
            "flamegate-01hzy8abcdefghij2345-GET-homepage.speedscope.json");
  EXPECT_EQ(name("callgrind", kContext), "callgrind.out.01hzy8abcdefghij2345");
  EXPECT_EQ(name("pprof", {"x", ""}), "flamegate-x.pb.gz");
  EXPECT_EQ(name("svg", {"", "POST /a/../b\r\n\"é;"}), "flamegate-POST-a-b.svg");
  EXPECT_EQ(name("svg", {"", std::string(500, 'a')}).size(), 10 + 60 + 4U);
}

TEST(Export, EveryFormatTakesEveryProfile) {
  ProfileBuilder idle;
  idle.valueColumn("wall", "nanoseconds");
  idle.addSample({}, {});
  std::vector<Profile> profiles;
  profiles.push_back(Profile{});
  profiles.push_back(std::move(*idle.take()));
  profiles.push_back(stacksProfile({{{"f", "g"}, 0}, {{"h"}, 0}}));
  profiles.push_back(
      stacksProfile({{{"f", "g"}, -7}, {{"h"}, INT64_MAX}, {{"h", "i"}, INT64_MAX}}));
  profiles.push_back(stacksProfile({{{""}, 1}, {{"<&\">", "\n;\\x3b"}, 2}}));
  profiles.push_back(requestProfile());
  for (const Profile& profile : profiles) {
    for (const ExportFormat& format : exportFormats()) {
      const auto text = format.write(profile, {});
      ASSERT_TRUE(text) << format.name;
      for (const char* nonsense : {"\"nan\"", "\"-nan\"", "nan ms", "nan %", "inf ms"}) {
        EXPECT_EQ(text->find(nonsense), std::string::npos) << format.name;
      }
      EXPECT_TRUE(!format.content_type.ends_with("json") || json::accept(*text)) << format.name;
    }
  }
}

TEST(ExportCollapsed, SumsEqualStacksByName) {
  EXPECT_EQ(exported("collapsed", requestProfile()),
            "handler;query 4000000\nhandler;render 4000000\nhandler;render;escape 2000000\n"
            "collect 1000000\n");
}

TEST(ExportCollapsed, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(exported("collapsed",
                     stacksProfile({{{"a;b", " c d ", "e\nf", "App\\Kernel", "x\\x3b"}, 1}})),
            "a\\x3bb;\\x20c d\\x20;e\\x0af;App\\Kernel;x\\x5cx3b 1\n");
}

TEST(CollapsedName, ComesBackEqual) {
  for (const std::string name :
       {"plain", "a;b", " ", "  two  ", "\\", "\\\\", "\\x3b", "\\x5cx3b", "\\xde",
        "App\\new\\xdebug", "tab\tin", "", "\\x3", "é ü", "C:\\x20"}) {
    std::string text;
    appendCollapsedName(&text, name);
    EXPECT_EQ(readCollapsedName(text), name);
    EXPECT_EQ(text.find(';'), std::string::npos);
  }
}

TEST(ExportSpeedscope, HasOneProfileAThreadWithSamplesInOrder) {
  const json document = json::parse(exported("speedscope", requestProfile()));
  EXPECT_EQ(document["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_EQ(document["name"], "GET /homepage");
  ASSERT_EQ(document["profiles"].size(), 2U);
  const json& main = document["profiles"][0];
  EXPECT_EQ(main["type"], "sampled");
  EXPECT_EQ(main["name"], "main");
  EXPECT_EQ(main["unit"], "nanoseconds");
  EXPECT_EQ(main["startValue"], 0);
  EXPECT_EQ(main["endValue"], 10'000'000);
  EXPECT_EQ(main["weights"], json(std::vector<int64_t>(10, 1'000'000)));
  const json& frames = document["shared"]["frames"];
  std::string stack;
  for (const json& frame : main["samples"][8])
    stack += "/" + frames[frame.get<size_t>()]["name"].get<std::string>();
  EXPECT_EQ(stack, "/handler/render/escape");
  EXPECT_EQ(frames[0], json({{"name", "handler"}, {"file", "app/handler.py"}, {"line", 1}}));
}

TEST(ExportSpeedscope, ShowsGapsAsEmptyStacks) {
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  const NodeId node = builder.child(kRootNode, builder.frame(builder.function("f")));
  for (const int64_t time : {1000, 1030}) {
    builder.addSample({.node = node, .timestamp_ns = time}, std::array<int64_t, 1>{10});
  }
  const json document = json::parse(exported("speedscope", *builder.take()));
  EXPECT_EQ(document["profiles"][0]["samples"], json::parse("[[0],[],[0]]"));
  EXPECT_EQ(document["profiles"][0]["weights"], json({10, 20, 10}));
}

TEST(ExportSvg, IsOneDocumentWithATitleAFrame) {
  const std::string svg = exported("svg", requestProfile());
  EXPECT_NE(svg.find("<title>render (app/render.py:7), 6.000 ms, 54.5 %, 6 samples</title>"),
            std::string::npos);
  EXPECT_NE(svg.find(">GET /homepage<"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find("style=\""), std::string::npos);
}

TEST(ExportHtml, NamesTheHottestFunctionsAndTheConditions) {
  const std::string html = exported("html", requestProfile());
  EXPECT_NE(html.find("flamegate: period_us=1000"), std::string::npos);
  EXPECT_NE(html.find("<td>query</td><td>app/query.py:1</td>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(ExportChrome, JoinsSuccessiveSamplesIntoCalls) {
  const json document = json::parse(exported("chrome", requestProfile()));
  std::vector<std::string> calls;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] != "X") continue;
    calls.push_back(event["name"].get<std::string>() + " " + event["ts"].dump() + "+" +
                    event["dur"].dump() + " on " + event["tid"].dump());
  }
  EXPECT_EQ(calls,
            (std::vector<std::string>{"query 0.0+4000.0 on 1", "escape 7000.0+2000.0 on 1",
                                      "render 4000.0+6000.0 on 1", "handler 0.0+10000.0 on 1",
                                      "collect 6000.0+1000.0 on 2"}));
}

TEST(ExportCpuprofile, HoldsTheHeaviestThread) {
  const json document = json::parse(exported("cpuprofile", requestProfile()));
  EXPECT_EQ(document["samples"].size(), 11U);
  EXPECT_EQ(document["timeDeltas"],
            json({0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}));
  EXPECT_EQ(document["endTime"].get<int64_t>() - document["startTime"].get<int64_t>(), 10'000);
  EXPECT_EQ(document["nodes"][0]["callFrame"]["functionName"], "(root)");
}

TEST(ExportJson, HoldsTreeAndTimeline) {
  const json document = json::parse(exported("json", requestProfile()));
  EXPECT_EQ(document["tree"]["total"], 11'000'000);
  EXPECT_EQ(document["timeline"]["threads"].size(), 2U);
  EXPECT_EQ(document["period"]["value"], 1'000'000);
}

// Callgrind: what KCachegrind would compute from the lines.
struct Callgrind {
  std::map<std::string, int64_t> self;       // by function
  std::map<std::string, int64_t> inclusive;  // self and all calls
  int64_t total = -1;
};

Callgrind readCallgrind(const std::string& text) {
  Callgrind out;
  std::map<std::string, std::string> names;  // "fn(3)" → name
  const auto nameOf = [&](const std::string& kind, const std::string& value) {
    const size_t end = value.find(')');
    const std::string key = kind + value.substr(0, end + 1);
    if (value.size() > end + 1) {
      EXPECT_EQ(names.count(key), 0U) << "defined twice: " << key;
      names[key] = value.substr(end + 2);
    }
    EXPECT_EQ(names.count(key), 1U) << "not defined: " << key;
    return names[key];
  };
  std::istringstream lines(text);
  std::string line, file, function;
  bool call = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("fl=")) file = nameOf("fl", line.substr(3));
    if (line.starts_with("cfi=")) nameOf("fl", line.substr(4));
    if (line.starts_with("fn=")) function = file + ":" + nameOf("fn", line.substr(3));
    if (line.starts_with("cfn=")) nameOf("fn", line.substr(4));
    if (line.starts_with("calls=")) call = true;
    if (line.starts_with("totals: ")) out.total = std::stoll(line.substr(8));
    if (line.empty() || line[0] < '0' || line[0] > '9') continue;
    const int64_t cost = std::stoll(line.substr(line.find(' ')));
    if (!call) out.self[function] += cost;
    out.inclusive[function] += cost;
    call = false;
  }
  return out;
}

TEST(ExportCallgrind, AddsUpWithNobodyAboveTheTotal) {
  const std::pair<std::string, Profile> cases[] = {
      {"request", requestProfile()},
      {"recursion", stacksProfile({{{"f", "f", "f"}, 3}, {{"f", "f"}, 2}, {{"f"}, 1}})},
      {"mutual", stacksProfile({{{"a", "b", "a"}, 5}, {{"a", "b"}, 2}, {{"b", "a", "b"}, 4}})},
      {"large", stacksProfile({{{"a", "b"}, 1'000'000'000'000}, {{"a"}, 2'000'000'000'000}})},
      {"none", Profile{}}};
  for (const auto& [name, profile] : cases) {
    const Callgrind callgrind = readCallgrind(exported("callgrind", profile));
    const int64_t total = sumOf(profile, shownColumn(profile));
    int64_t sum = 0;
    for (const auto& [function, cost] : callgrind.self) sum += cost;
    EXPECT_EQ(sum, total) << name;
    EXPECT_EQ(callgrind.total, total) << name;
    EXPECT_EQ(callgrind.inclusive.at("???:[profile]"), total) << name;
    for (const auto& [function, cost] : callgrind.inclusive) EXPECT_LE(cost, total) << function;
  }
}

TEST(ExportCallgrind, KeepsFunctionsOfOneNameApart) {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  const auto add = [&](std::string_view name, std::string_view file, int64_t line, int64_t value) {
    const NodeId node =
        builder.child(kRootNode, builder.frame(builder.function(name, file, line), line));
    builder.addSample({.node = node}, std::array{value});
  };
  add("f", "a.py", 1, 1);
  add("f", "b.py", 1, 2);
  add("<lambda>", "a.py", 7, 4);
  add("<lambda>", "a.py", 9, 8);
  add("(12)", "a.py", 0, 16);
  add("line\nend", "a.py", 0, 32);
  const Callgrind callgrind = readCallgrind(exported("callgrind", *builder.take()));
  const std::map<std::string, int64_t> wanted = {
      {"???:[profile]", 0},   {"a.py:f", 1},     {"b.py:f", 2},        {"a.py:<lambda>:7", 4},
      {"a.py:<lambda>:9", 8}, {"a.py:(12)", 16}, {"a.py:line end", 32}};
  EXPECT_EQ(callgrind.self, wanted);
}

}  // namespace
}  // namespace flamegate::control
