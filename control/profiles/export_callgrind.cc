#include <algorithm>
#include <numeric>

#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr size_t kEventsMax = 4;
constexpr FunctionId kWholeProfile = kNoIndex;  // the pseudo function that calls all others

// A function at one depth of its own recursion: 0 for the outermost call.
struct Level {
  FunctionId function = kWholeProfile;
  uint32_t depth = 0;
  bool operator==(const Level&) const = default;
  uint64_t hash(uint64_t seed) const { return mixHash(seed ^ depth, function); }
};

// Costs of code of `caller` at a line, or of its calls of `callee` from there.
struct Cost {
  uint32_t caller = 0;
  uint32_t callee = kNoIndex;  // kNoIndex: own cost
  int32_t line = 0;
  bool operator==(const Cost&) const = default;
  auto operator<=>(const Cost&) const = default;
  uint64_t hash(uint64_t seed) const {
    return mixHash(seed ^ static_cast<uint32_t>(line), (uint64_t{caller} << 32) | callee);
  }
};

class CallgrindWriter {
 public:
  CallgrindWriter(const Profile& profile, const ExportContext& context)
      : profile_(profile), context_(context) {}

  proxy::Result<std::string> write();

 private:
  void chooseEvents();
  void collect();
  void addCosts(const Cost& cost, NodeId node, bool own);
  void findNamesakes();
  void appendHeader();
  bool appendBody();
  void appendFile(std::string_view key, FunctionId function);
  void appendName(std::string_view key, uint32_t level);
  void appendEvents(uint32_t cost);
  std::string eventName(size_t column) const;

  const Profile& profile_;
  const ExportContext& context_;
  std::string out_;
  std::vector<size_t> columns_;
  std::vector<CallTree> trees_;  // one for each event
  InternTable<Level> levels_;
  InternTable<Cost> costs_;
  std::vector<int64_t> values_;  // of each cost, one for each event
  std::vector<int64_t> calls_;   // of each cost
  std::vector<bool> has_namesake_;
  std::vector<bool> file_defined_, level_defined_;
};

proxy::Result<std::string> CallgrindWriter::write() {
  chooseEvents();
  collect();
  findNamesakes();
  appendHeader();
  if (!appendBody()) return exportTooLarge("callgrind");
  return std::move(out_);
}

// The shown column first: tools sort by it.
void CallgrindWriter::chooseEvents() {
  const size_t shown = shownColumn(profile_);
  if (shown != kNoIndex) columns_.push_back(shown);
  for (size_t column = 0; column < profile_.value_types.size(); ++column) {
    if (column != shown && columns_.size() < kEventsMax) columns_.push_back(column);
  }
  if (columns_.empty()) columns_.push_back(kNoIndex);
  for (const size_t column : columns_) trees_.push_back(callTree(profile_, column));
}

void CallgrindWriter::addCosts(const Cost& cost, NodeId node, bool own) {
  const uint32_t index = costs_.intern(cost);
  if (index == calls_.size()) {
    calls_.push_back(0);
    values_.resize(values_.size() + trees_.size(), 0);
  }
  for (size_t event = 0; event < trees_.size(); ++event) {
    const int64_t value = own ? trees_[event].self[node] : trees_[event].total[node];
    int64_t& sum = values_[index * trees_.size() + event];
    sum = addSaturating(sum, std::max<int64_t>(value, 0));
  }
  calls_[index] = addSaturating(calls_[index], std::max<int64_t>(trees_[0].samples[node], 1));
}

void CallgrindWriter::collect() {
  std::vector<uint32_t> open(profile_.functions.size(), 0);  // calls of the function on the path
  std::vector<uint32_t> level_of(profile_.nodes.size(), 0);
  const auto functionOf = [&](NodeId node) {
    return profile_.frames[profile_.nodes[node].frame].function;
  };
  const auto lineOf = [&](NodeId node) {
    return node == kRootNode ? 0 : profile_.frames[profile_.nodes[node].frame].line;
  };
  levels_.intern({});
  const auto enter = [&](NodeId node) {
    if (node != kRootNode) {
      const FunctionId function = functionOf(node);
      level_of[node] = levels_.intern({function, open[function]++});
      const NodeId parent = profile_.nodes[node].parent;
      addCosts({level_of[parent], level_of[node], lineOf(parent)}, node, false);
    }
    addCosts({level_of[node], kNoIndex, lineOf(node)}, node, true);
  };
  const auto leave = [&](NodeId node) {
    if (node != kRootNode) --open[functionOf(node)];
  };
  walkTree(childLists(profile_.nodes), enter, leave);
}

// Tools tell functions apart by name and file only; several of one name, such as lambdas, get their
// line into the name.
void CallgrindWriter::findNamesakes() {
  std::vector<FunctionId> order(profile_.functions.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](FunctionId id) {
    return std::pair(profile_.functions[id].name, profile_.functions[id].file);
  };
  std::ranges::sort(order, {}, key);
  has_namesake_.assign(order.size(), false);
  for (size_t i = 1; i < order.size(); ++i) {
    if (key(order[i - 1]) != key(order[i])) continue;
    has_namesake_[order[i - 1]] = true;
    has_namesake_[order[i]] = true;
  }
}

// A word of letters, digits and underlines: "wall", "alloc_space".
std::string CallgrindWriter::eventName(size_t column) const {
  std::string name =
      column == kNoIndex ? "none" : std::string(profile_.text(profile_.value_types[column].type));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "v" + name : name;
}

// One line of text: no control characters, no blanks in front.
void appendLineText(std::string* out, std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    *out += "[no name]";
    return;
  }
  for (const char c : text.substr(begin)) {
    out->push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
}

void CallgrindWriter::appendHeader() {
  out_ += "# callgrind format\nversion: 1\ncreator: flamegate\n";
  if (!context_.label.empty()) {
    out_ += "cmd: ";
    appendLineText(&out_, context_.label);
    out_.push_back('\n');
  }
  out_ += "desc: Note: sampled; calls are counts of samples\npositions: line\n";
  std::string events = "events:";
  for (const size_t column : columns_) {
    const std::string name = eventName(column);
    events += " " + name;
    if (column == kNoIndex) continue;
    out_ += "event: " + name + " : ";
    appendLineText(&out_, profile_.text(profile_.value_types[column].type));
    out_ += " (";
    appendLineText(&out_, profile_.text(profile_.value_types[column].unit));
    out_ += ")\n";
  }
  out_ += events + "\n";
}

// Each number is defined where it is used first: fl=(3) app/views.py, later fl=(3).
void CallgrindWriter::appendFile(std::string_view key, FunctionId function) {
  const StringId file = function == kWholeProfile ? 0 : profile_.functions[function].file;
  out_ += key;
  out_ += "=(";
  appendNumber(&out_, file + 1);
  out_.push_back(')');
  if (!file_defined_[file]) {
    file_defined_[file] = true;
    out_.push_back(' ');
    appendLineText(&out_, file == 0 ? "???" : profile_.text(file));
  }
  out_.push_back('\n');
}

void CallgrindWriter::appendName(std::string_view key, uint32_t level) {
  const auto [function, depth] = levels_[level];
  out_ += key;
  out_ += "=(";
  appendNumber(&out_, level + 1);
  out_.push_back(')');
  if (!level_defined_[level]) {
    level_defined_[level] = true;
    out_.push_back(' ');
    if (function == kWholeProfile) {
      out_ += "[profile]";
    } else {
      appendLineText(&out_, profile_.text(profile_.functions[function].name));
      if (has_namesake_[function]) {
        out_ += ":" + std::to_string(profile_.functions[function].line);
      }
    }
    if (depth > 0) out_ += "'" + std::to_string(depth + 1);
  }
  out_.push_back('\n');
}

void CallgrindWriter::appendEvents(uint32_t cost) {
  for (size_t event = 0; event < trees_.size(); ++event) {
    out_.push_back(' ');
    appendNumber(&out_, values_[cost * trees_.size() + event]);
  }
  out_.push_back('\n');
}

bool CallgrindWriter::appendBody() {
  file_defined_.assign(profile_.strings.size(), false);
  level_defined_.assign(levels_.size(), false);
  std::vector<uint32_t> order(costs_.size());
  std::iota(order.begin(), order.end(), 0);
  // Own costs of a function come before its calls: kNoIndex + 1 is 0.
  std::ranges::sort(order, {}, [&](uint32_t index) {
    const Cost& cost = costs_[index];
    return std::tuple(cost.caller, cost.callee + 1, cost.line);
  });
  uint32_t caller = kNoIndex;
  for (const uint32_t index : order) {
    if (isOverExportLimit(out_)) return false;
    const Cost& cost = costs_[index];
    if (cost.caller != caller) {
      caller = cost.caller;
      out_.push_back('\n');
      appendFile("fl", levels_[caller].function);
      appendName("fn", caller);
    }
    if (cost.callee != kNoIndex) {
      const FunctionId callee = levels_[cost.callee].function;
      appendFile("cfi", callee);
      appendName("cfn", cost.callee);
      out_ += "calls=";
      appendNumber(&out_, calls_[index]);
      out_.push_back(' ');
      appendNumber(&out_, profile_.functions[callee].line);
      out_.push_back('\n');
    }
    appendNumber(&out_, cost.line);
    appendEvents(index);
  }
  out_ += "\ntotals:";
  for (const CallTree& tree : trees_) {
    out_.push_back(' ');
    appendNumber(&out_, std::max<int64_t>(tree.total[kRootNode], 0));
  }
  out_.push_back('\n');
  return true;
}

}  // namespace

proxy::Result<std::string> exportCallgrind(const Profile& profile, const ExportContext& context) {
  return CallgrindWriter(profile, context).write();
}

}  // namespace flamegate::control
