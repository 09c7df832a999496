#include <algorithm>
#include <bit>

#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"

namespace flamegate::control {
namespace {

// The few kinds of value that statistics consist of, in Python's marshal format, in the codes that
// every Python 3 reads.
class MarshalWriter {
 public:
  void beginDict() { out_.push_back('{'); }
  void endDict() { out_.push_back('0'); }
  void beginTuple(uint32_t size) {
    out_.push_back('(');
    word(size);
  }
  void text(std::string_view text) {
    out_.push_back('u');
    word(static_cast<uint32_t>(text.size()));
    out_ += text;
  }
  void integer(int64_t value) {
    out_.push_back('i');
    word(static_cast<uint32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)));
  }
  void real(double value) {
    out_.push_back('g');
    const auto bits = std::bit_cast<uint64_t>(value);
    word(static_cast<uint32_t>(bits));
    word(static_cast<uint32_t>(bits >> 32));
  }
  size_t size() const { return out_.size(); }
  std::string take() { return std::move(out_); }

 private:
  void word(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      out_.push_back(static_cast<char>((value >> shift) & 0xff));
    }
  }
  std::string out_;
};

struct Call {
  FunctionId callee = 0;
  FunctionId caller = 0;
  bool operator==(const Call&) const = default;
  auto operator<=>(const Call&) const = default;
  uint64_t hash(uint64_t seed) const { return mixHash(seed ^ callee, caller); }
};

// One entry of the statistics, for a function or for a call of one function by another.
struct Statistic {
  int64_t samples = 0;
  int64_t self = 0;
  int64_t total = 0;
  uint32_t open = 0;  // how often it is on the present path; only the outermost counts
};

class PstatsWriter {
 public:
  explicit PstatsWriter(const Profile& profile)
      : profile_(profile),
        weight_(timeWeight(profile)),
        tree_(callTree(profile, weight_.column)),
        functions_(profile.functions.size()) {}

  proxy::Result<std::string> write() {
    collect();
    return append() ? proxy::Result<std::string>(out_.take()) : exportTooLarge("pstats");
  }

 private:
  void collect();
  void add(Statistic* statistic, NodeId node) {
    statistic->self = addSaturating(statistic->self, tree_.self[node]);
    if (statistic->open++ > 0) return;
    statistic->total = addSaturating(statistic->total, tree_.total[node]);
    statistic->samples = addSaturating(statistic->samples, tree_.samples[node]);
  }
  bool append();
  void appendKey(FunctionId id);
  void appendStatistic(const Statistic& statistic, uint32_t tuple_size);
  double seconds(int64_t value) const {
    constexpr double kNsInSecond = 1e9;
    const auto scaled = static_cast<double>(value) * static_cast<double>(weight_.factor);
    return weight_.is_time ? scaled / kNsInSecond : scaled;
  }

  const Profile& profile_;
  TimeWeight weight_;
  CallTree tree_;
  std::vector<Statistic> functions_;
  InternTable<Call> calls_;
  std::vector<Statistic> call_statistics_;
  MarshalWriter out_;
};

void PstatsWriter::collect() {
  std::vector<uint32_t> call_of(profile_.nodes.size(), kNoIndex);
  const auto functionOf = [&](NodeId node) {
    return profile_.frames[profile_.nodes[node].frame].function;
  };
  const auto enter = [&](NodeId node) {
    if (node == kRootNode) return;
    add(&functions_[functionOf(node)], node);
    const NodeId parent = profile_.nodes[node].parent;
    if (parent == kRootNode) return;
    const uint32_t call = calls_.intern({functionOf(node), functionOf(parent)});
    if (call == call_statistics_.size()) call_statistics_.emplace_back();
    call_of[node] = call;
    add(&call_statistics_[call], node);
  };
  const auto leave = [&](NodeId node) {
    if (node == kRootNode) return;
    --functions_[functionOf(node)].open;
    if (call_of[node] != kNoIndex) --call_statistics_[call_of[node]].open;
  };
  walkTree(childLists(profile_.nodes), enter, leave);
}

void PstatsWriter::appendKey(FunctionId id) {
  const Function& function = profile_.functions[id];
  out_.beginTuple(3);
  out_.text(function.file == 0 ? "~" : profile_.text(function.file));
  out_.integer(function.line);
  out_.text(profile_.text(function.name));
}

void PstatsWriter::appendStatistic(const Statistic& statistic, uint32_t tuple_size) {
  out_.beginTuple(tuple_size);
  out_.integer(statistic.samples);
  out_.integer(statistic.samples);
  out_.real(seconds(statistic.self));
  out_.real(seconds(statistic.total));
}

bool PstatsWriter::append() {
  std::vector<uint32_t> order(calls_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](uint32_t call) { return calls_[call]; });
  auto call = order.begin();
  out_.beginDict();
  for (FunctionId id = 0; id < functions_.size(); ++id) {
    if (out_.size() > kExportBytesMax) return false;
    appendKey(id);
    appendStatistic(functions_[id], 5);
    out_.beginDict();
    for (; call != order.end() && calls_[*call].callee == id; ++call) {
      appendKey(calls_[*call].caller);
      appendStatistic(call_statistics_[*call], 4);
    }
    out_.endDict();
  }
  out_.endDict();
  return true;
}

}  // namespace

proxy::Result<std::string> exportPstats(const Profile& profile, const ExportContext&) {
  return PstatsWriter(profile).write();
}

}  // namespace flamegate::control
