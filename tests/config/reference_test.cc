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

LoadOptions exampleOptions() {
  LoadOptions options;
  options.check_files = false;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "REDIS_PASSWORD") return "secret";
    if (name == "OPS_PASSWORD_HASH") return "$2b$12$abcdefghijklmnopqrstuv";
    return std::nullopt;
  };
  return options;
}

TEST_P(Example, LoadsWithoutFaultsAndWarnings) {
  const Loading loading = loadFile(GetParam().string(), exampleOptions());
  ASSERT_TRUE(loading) << linesOf(loading.error());
  EXPECT_EQ(linesOf(loading->warnings), "");
}

std::string exampleName(const testing::TestParamInfo<std::filesystem::path>& example) {
  std::string name = example.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The blocks of a page that are marked as YAML and nothing more, by the line that they begin at.
std::map<int, std::string> yamlBlocks(const std::string& page) {
  std::map<int, std::string> blocks;
  std::ifstream stream(page);
  int number = 0;
  std::string* block = nullptr;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line == "```yaml") {
      block = &blocks[number];
    } else if (line == "```") {
      block = nullptr;
    } else if (block != nullptr) {
      *block += line + "\n";
    }
  }
  return blocks;
}

TEST(Moving, ShowsConfigurationsThatLoad) {
  const auto blocks = yamlBlocks(FLAMEGATE_SOURCE_DIR "/config/moving.md");
  EXPECT_EQ(blocks.size(), 3U);
  for (const auto& [line, text] : blocks) {
    const Loading loading = loadText(text, "moving.md", ".", exampleOptions());
    ASSERT_TRUE(loading) << "line " << line << ": " << linesOf(loading.error());
    EXPECT_EQ(linesOf(loading->warnings), "") << "line " << line;
  }
}

bool isFullKey(const std::string& word) {
  if (word.find_first_of(" :,{") != std::string::npos) return false;
  const auto begins = [&](std::string_view with) { return word.rfind(with, 0) == 0; };
  return begins("listeners[].") || begins("routes[].") || begins("clusters[].") || begins("limits.");
}

// What stands between the backticks of a table's cell.
std::vector<std::string> codeOf(const std::string& cell) {
  std::vector<std::string> words;
  std::istringstream stream(cell);
  bool code = false;
  for (std::string part; std::getline(stream, part, '`'); code = !code) {
    if (code) words.push_back(part);
  }
  return words;
}

TEST(Moving, NamesKeysThatExist) {
  std::set<std::string> known;
  for (const KeyInfo& key : listKeys()) known.insert(key.path);
  size_t seen = 0;
  std::ifstream stream(FLAMEGATE_SOURCE_DIR "/config/moving.md");
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    for (const std::string& word : codeOf(cellsOf(line).back())) {
      if (!isFullKey(word)) continue;
      ++seen;
      EXPECT_EQ(known.count(word), 1U) << word;
    }
  }
  EXPECT_GT(seen, 40U);
}

INSTANTIATE_TEST_SUITE_P(Files, Example, testing::ValuesIn(examples()), exampleName);

}  // namespace
}  // namespace flamegate::config
