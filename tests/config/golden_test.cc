// Each golden/NAME.yaml is faulty; golden/NAME.txt holds exactly what is said about it. A file
// whose first line is "# warnings" is fine, and its text holds the warnings.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/config/support.h"

namespace flamegate::config {
namespace {

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

std::vector<std::string> goldenNames() {
  std::vector<std::string> names;
  const std::filesystem::path directory = FLAMEGATE_SOURCE_DIR "/tests/config/golden";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, FileIsAnsweredWithExactlyTheseMessages) {
  const std::filesystem::path directory = FLAMEGATE_SOURCE_DIR "/tests/config/golden";
  const std::string text = contentOf(directory / (GetParam() + ".yaml"));
  const Loading loading = loadTest(text, GetParam() + ".yaml");
  const bool wants_warnings = text.rfind("# warnings\n", 0) == 0;
  ASSERT_EQ(loading.has_value(), wants_warnings) << (loading ? "loads" : linesOf(loading.error()));
  const std::string said = loading ? linesOf(loading->warnings) : linesOf(loading.error());
  EXPECT_EQ(said, contentOf(directory / (GetParam() + ".txt")));
}

std::string testName(const testing::TestParamInfo<std::string>& file) {
  std::string name = file.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(goldenNames()), testName);

}  // namespace
}  // namespace flamegate::config
