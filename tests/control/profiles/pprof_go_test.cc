// What Go's own tool makes of the files that we write. Skipped, loudly, where Go is not installed.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "control/profiles/builder.h"
#include "control/profiles/pprof.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

// The output of a shell command, both streams; its exit status as last line.
std::string outputOf(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1; echo status $?").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, got);
  pclose(pipe);
  return out;
}

std::string goPprof(const std::string& flags, const Profile& profile) {
  const std::string path =
      testing::TempDir() + "/flamegate-go-" + std::to_string(getpid()) + ".pb.gz";
  std::ofstream(path, std::ios::binary) << encodePprof(profile);
  const std::string out = outputOf("go tool pprof " + flags + " " + path);
  std::remove(path.c_str());
  return out;
}

class PprofGo : public testing::Test {
 protected:
  void SetUp() override {
    if (outputOf("go version").find("go version") == std::string::npos) {
      GTEST_SKIP() << "go is not installed: the files were not opened with `go tool pprof`";
    }
  }
};

TEST_F(PprofGo, OpensACanonicalProfile) {
  const std::string raw = goPprof("-raw", requestProfile());
  EXPECT_NE(raw.find("status 0"), std::string::npos) << raw;
  EXPECT_NE(raw.find("PeriodType: wall nanoseconds"), std::string::npos) << raw;
  EXPECT_NE(raw.find("samples/count wall/nanoseconds[dflt] cpu/nanoseconds"), std::string::npos)
      << raw;
  EXPECT_NE(raw.find("endpoint:[GET /homepage]"), std::string::npos) << raw;
  EXPECT_NE(raw.find("timestamp_ns:[1700000000000000000 nanoseconds]"), std::string::npos) << raw;
  EXPECT_NE(raw.find("flamegate: period_us=1000"), std::string::npos) << raw;
}

TEST_F(PprofGo, FindsTheSameHottestFunctions) {
  const std::string top = goPprof("-top -unit=ns", requestProfile());
  EXPECT_NE(top.find("Showing nodes accounting for 11000000ns, 100% of 11000000ns total"),
            std::string::npos)
      << top;
  EXPECT_NE(top.find("4000000ns 36.36% 36.36%  4000000ns 36.36%  query"), std::string::npos) << top;
}

TEST_F(PprofGo, OpensAProfileWithoutSamples) {
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  const std::string raw = goPprof("-raw", *builder.take());
  EXPECT_NE(raw.find("status 0"), std::string::npos) << raw;
}

}  // namespace
}  // namespace flamegate::control
