#include <array>
#include <charconv>
#include <optional>

#include "control/profiles/builder.h"
#include "control/profiles/collapsed_text.h"
#include "control/profiles/importers.h"
#include "control/profiles/limits.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::optional<int64_t> parseCount(std::string_view text) {
  int64_t count = 0;
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return count;
}

class CollapsedReader {
 public:
  explicit CollapsedReader(const ImportOptions& options) : options_(options) {
    builder_.valueColumn("samples", "count");
    if (options.period_ns > 0) {
      builder_.valueColumn("wall", "nanoseconds");
      builder_.setPeriod("wall", "nanoseconds", options.period_ns);
    }
  }

  proxy::Result<Profile> read(std::string_view text);

 private:
  void readLine(std::string_view line);
  void addStack(std::string_view stack, int64_t count);

  const ImportOptions& options_;
  ProfileBuilder builder_;
  std::vector<FrameId> frames_;
  std::vector<uint32_t> row_of_node_;  // kNoIndex: the stack was not seen yet
  size_t line_number_ = 0;
};

proxy::Result<Profile> CollapsedReader::read(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty() && builder_.fault().empty()) {
    const size_t end = text.find('\n');
    ++line_number_;
    readLine(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const Loss& loss = builder_.loss();
  if (loss.bad_lines > 0 && builder_.sampleCount() == 0 && builder_.fault().empty()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent,
                       "no line ends in a count; the first without one is line " +
                           std::to_string(loss.first_bad_line));
  }
  return builder_.take();
}

void CollapsedReader::readLine(std::string_view line) {
  while (!line.empty() && isBlank(line.back())) line.remove_suffix(1);
  if (line.empty()) return;
  const size_t blank = line.find_last_of(" \t");
  const auto count =
      blank == std::string_view::npos ? std::nullopt : parseCount(line.substr(blank + 1));
  if (!count) {
    Loss& loss = builder_.loss();
    if (loss.bad_lines++ == 0) loss.first_bad_line = line_number_;
    return;
  }
  std::string_view stack = line.substr(0, blank);
  while (!stack.empty() && isBlank(stack.back())) stack.remove_suffix(1);
  addStack(stack, *count);
}

void CollapsedReader::addStack(std::string_view stack, int64_t count) {
  frames_.clear();
  for (size_t begin = 0; !stack.empty() && begin <= stack.size();) {
    const size_t end = std::min(stack.find(';', begin), stack.size());
    const std::string_view name = stack.substr(begin, end - begin);
    frames_.push_back(builder_.frame(builder_.function(readCollapsedName(name))));
    begin = end + 1;
  }
  const NodeId node = builder_.stack(frames_);
  if (node >= row_of_node_.size()) row_of_node_.resize(node + 1, kNoIndex);
  const int64_t wall = multiplySaturating(count, options_.period_ns);
  uint32_t& row = row_of_node_[node];
  if (row == kNoIndex) {
    row = static_cast<uint32_t>(builder_.sampleCount());
    const std::array values = {count, wall};
    builder_.addSample({.node = node}, std::span(values).first(builder_.valueColumnCount()));
    return;
  }
  builder_.addToValue(row, 0, count);
  if (builder_.valueColumnCount() > 1) builder_.addToValue(row, 1, wall);
}

}  // namespace

proxy::Result<Profile> importCollapsed(std::string_view bytes, const ImportOptions& options) {
  if (bytes.size() > kInflatedBytesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, "more than 32 MiB");
  }
  return CollapsedReader(options).read(bytes);
}

}  // namespace flamegate::control
