#include <algorithm>

#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/slices.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

// Microseconds with three decimals, exact.
void appendMicroseconds(std::string* out, int64_t ns) {
  appendNumber(out, ns / 1000);
  const auto rest = static_cast<int>(ns % 1000);
  out->push_back('.');
  for (const int digit : {rest / 100, rest / 10 % 10, rest % 10}) {
    out->push_back(static_cast<char>('0' + digit));
  }
}

// Turns the samples of one thread into calls: a call lasts as long as successive samples, without a
// gap between them, have it on their stacks.
class CallEvents {
 public:
  CallEvents(std::string* out, const Profile& profile, const FoldedTree& tree, size_t thread_number)
      : out_(out), profile_(profile), tree_(tree), thread_number_(thread_number) {}

  // False when the text grew too large.
  bool append(const std::vector<Slice>& slices) {
    int64_t previous_end = 0;
    for (const Slice& slice : slices) {
      findPath(tree_.of_node[profile_.samples.node[slice.row]]);
      size_t shared = 0;
      if (slice.begin_ns == previous_end) {
        while (shared < std::min(open_.size(), path_.size()) &&
               open_[shared].node == path_[shared]) {
          ++shared;
        }
      }
      closeDownTo(shared, previous_end);
      for (; shared < path_.size(); ++shared) open_.push_back({path_[shared], slice.begin_ns});
      previous_end = slice.end();
      if (isOverExportLimit(*out_)) return false;
    }
    closeDownTo(0, previous_end);
    return true;
  }

 private:
  struct OpenCall {
    uint32_t node;
    int64_t begin_ns;
  };

  void findPath(uint32_t node) {
    path_.clear();
    for (; node != 0; node = tree_.parent[node]) path_.push_back(node);
    std::ranges::reverse(path_);
  }

  void closeDownTo(size_t depth, int64_t end_ns) {
    for (; open_.size() > depth; open_.pop_back()) appendEvent(open_.back(), end_ns);
  }

  void appendEvent(const OpenCall& call, int64_t end_ns) {
    const Function& function = profile_.functions[tree_.function[call.node]];
    *out_ += ",\n{\"ph\":\"X\",\"cat\":\"function\",\"name\":";
    appendJsonString(out_, profile_.text(function.name));
    *out_ += ",\"pid\":1,\"tid\":";
    appendNumber(out_, thread_number_);
    *out_ += ",\"ts\":";
    appendMicroseconds(out_, call.begin_ns);
    *out_ += ",\"dur\":";
    appendMicroseconds(out_, end_ns - call.begin_ns);
    if (function.file != 0) {
      *out_ += ",\"args\":{\"file\":";
      appendJsonString(out_, profile_.text(function.file));
      *out_ += ",\"line\":";
      appendNumber(out_, function.line);
      out_->push_back('}');
    }
    out_->push_back('}');
  }

  std::string* out_;
  const Profile& profile_;
  const FoldedTree& tree_;
  size_t thread_number_;
  std::vector<uint32_t> path_;
  std::vector<OpenCall> open_;
};

void appendMetadata(std::string* out, std::string_view kind, size_t thread_number,
                    std::string_view name) {
  *out += "{\"ph\":\"M\",\"pid\":1,\"tid\":";
  appendNumber(out, thread_number);
  *out += ",\"name\":";
  appendJsonString(out, kind);
  *out += ",\"args\":{\"name\":";
  appendJsonString(out, name);
  *out += "}}";
}

}  // namespace

proxy::Result<std::string> exportChrome(const Profile& profile, const ExportContext& context) {
  const TimeAxis axis = timeAxis(profile);
  const FoldedTree tree = foldTree(profile, shownColumn(profile), Granularity::Functions);
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  appendMetadata(&out, "process_name", 0, context.label.empty() ? "flamegate" : context.label);
  for (size_t i = 0; i < axis.threads.size(); ++i) {
    out += ",\n";
    appendMetadata(&out, "thread_name", i + 1,
                   profile.text(profile.threads[axis.threads[i].thread]));
    if (!CallEvents(&out, profile, tree, i + 1).append(axis.threads[i].slices)) {
      return exportTooLarge("chrome");
    }
  }
  out += "\n]}\n";
  return out;
}

}  // namespace flamegate::control
