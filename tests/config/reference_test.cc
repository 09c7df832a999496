// Keeps the reference, the examples and the schema together.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "config/load/visitors.h"
#include "tests/config/support.h"

namespace flamegate::config {
namespace {

// "| `key` | type | default | limits | meaning |" as its cells.
std::vector<std::string> cellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const size_t begin = cell.find_first_not_of(' ');
    const size_t end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

std::string rowOf(const KeyInfo& key) {
  std::string fallback = key.required ? "**required**" : key.fallback;
  if (!key.required && !fallback.empty() && fallback != "absent") fallback = "`" + fallback + "`";
  return "`" + key.path + "` | " + key.type + " | " + fallback + " | " + key.limits;
}

// Row of a key without its meaning, by row.
std::map<std::string, std::string> documentedRows() {
  std::map<std::string, std::string> rows;
  std::ifstream stream(FLAMEGATE_SOURCE_DIR "/config/reference.md");
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    const auto cells = cellsOf(line);
    if (cells.size() < 5) {
      ADD_FAILURE() << "not five cells: " << line;
      continue;
    }
    const std::string row = cells[0] + " | " + cells[1] + " | " + cells[2] + " | " + cells[3];
    EXPECT_TRUE(rows.emplace(row, cells[4]).second) << "twice: " << row;
  }
  return rows;
}

TEST(Reference, SaysOfEveryKeyWhatTheLoaderTakes) {
  const auto rows = documentedRows();
  for (const KeyInfo& key : listKeys()) {
    const auto found = rows.find(rowOf(key));
    if (found == rows.end()) {
      ADD_FAILURE() << "missing or different: | " << rowOf(key) << " |";
    } else {
      EXPECT_GT(found->second.size(), 10U) << key.path << " needs a sentence";
    }
  }
}

TEST(Reference, HasNoKeyThatTheLoaderDoesNotKnow) {
  std::set<std::string> known;
  for (const KeyInfo& key : listKeys()) known.insert(rowOf(key));
  for (const auto& [row, meaning] : documentedRows()) EXPECT_EQ(known.count(row), 1U) << row;
}

class Example : public testing::TestWithParam<std::filesystem::path> {};

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(FLAMEGATE_SOURCE_DIR "/config/examples")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  return paths;
}

TEST_P(Example, LoadsWithoutFaultsAndWarnings) {
  LoadOptions options;
  options.check_files = false;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "REDIS_PASSWORD") return "secret";
    if (name == "OPS_PASSWORD_HASH") return "$2b$12$abcdefghijklmnopqrstuv";
    return std::nullopt;
  };
  const Loading loading = loadFile(GetParam().string(), options);
  ASSERT_TRUE(loading) << linesOf(loading.error());
  EXPECT_EQ(linesOf(loading->warnings), "");
}

std::string exampleName(const testing::TestParamInfo<std::filesystem::path>& example) {
  std::string name = example.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Example, testing::ValuesIn(examples()), exampleName);

}  // namespace
}  // namespace flamegate::config
