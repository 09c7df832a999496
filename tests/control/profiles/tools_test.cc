// What other people's tools make of the exports. Each is skipped, loudly, where it is not
// installed.
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "control/profiles/export.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

// The output of a shell command, both streams.
std::string outputOf(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, got);
  pclose(pipe);
  return out;
}

// What `command FILE` says about the profile in a format.
std::string toolOutput(const std::string& command, std::string_view format,
                       const Profile& profile) {
  const ExportFormat& chosen = *findExportFormat(format);
  const std::string path =
      testing::TempDir() + "/" + exportFileName(chosen, {"tool" + std::to_string(getpid()), ""});
  std::ofstream(path, std::ios::binary) << *chosen.write(profile, {"id", "GET /homepage"});
  std::string out = outputOf(command + " " + path);
  std::remove(path.c_str());
  return out;
}

bool isInstalled(const std::string& program) { return !outputOf("command -v " + program).empty(); }

TEST(CallgrindAnnotate, ReadsTheExportWithoutAWarning) {
  if (!isInstalled("callgrind_annotate")) GTEST_SKIP() << "callgrind_annotate is not installed";
  const Profile recursive = stacksProfile({{{"f", "g", "f"}, 70}, {{"f", "(12) x"}, 30}});
  const std::string out =
      toolOutput("callgrind_annotate --inclusive=yes --threshold=100", "callgrind", recursive);
  EXPECT_EQ(out.find("WARNING"), std::string::npos) << out;
  EXPECT_NE(out.find("100 (100.0%)  PROGRAM TOTALS"), std::string::npos) << out;
  EXPECT_NE(out.find("100 (100.0%)  app/f.py:f\n"), std::string::npos) << out;
  EXPECT_NE(out.find("30 (30.00%)  app/(12) x.py:(12) x\n"), std::string::npos) << out;
}

TEST(Pstats, OpensInPython) {
  if (!isInstalled("/usr/bin/python3")) GTEST_SKIP() << "python3 is not installed";
  const std::string script =
      "import pstats, sys; s = pstats.Stats(sys.argv[1]); s.sort_stats('tottime').print_stats(); "
      "s.print_callers()";
  const std::string out =
      toolOutput("/usr/bin/python3 -c \"" + script + "\"", "pstats", requestProfile());
  EXPECT_NE(out.find("in 0.011 seconds"), std::string::npos) << out;
  EXPECT_NE(out.find("4    0.004    0.001    0.004    0.001 app/query.py:1(query)"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("10    0.000    0.000    0.010    0.001 app/handler.py:1(handler)"),
            std::string::npos)
      << out;
}

TEST(Svg, IsWellFormedXml) {
  if (!isInstalled("/usr/bin/python3")) GTEST_SKIP() << "python3 is not installed";
  const std::string script =
      "import sys, xml.dom.minidom as m; print(m.parse(sys.argv[1]).documentElement.tagName)";
  const Profile odd = stacksProfile({{{"<a>&\"'", "x\x01y\n", "ünï"}, 5}});
  EXPECT_EQ(toolOutput("/usr/bin/python3 -c \"" + script + "\"", "svg", odd), "svg\n");
}

}  // namespace
}  // namespace flamegate::control
