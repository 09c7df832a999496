#include "control/profiles/merge.h"

#include <algorithm>
#include <array>

#include "control/profiles/builder.h"

namespace flamegate::control {
namespace {

// Ids of one part → ids of the whole; kNoIndex: not needed so far.
struct Translation {
  explicit Translation(const Profile& profile)
      : strings(profile.strings.size(), kNoIndex),
        label_sets(profile.label_sets.size(), kNoIndex),
        threads(profile.threads.size(), kNoIndex) {}

  std::vector<StringId> strings;
  std::vector<LabelSetId> label_sets;
  std::vector<ThreadId> threads;
  std::vector<NodeId> nodes;
  std::vector<size_t> columns;
};

struct RowRef {
  int64_t timestamp_ns;
  uint32_t part;
  uint32_t row;
};

// What samples have in common that MergeDetail::Stacks makes one.
struct StackKey {
  NodeId node;
  State state;
  bool operator==(const StackKey&) const = default;
  uint64_t hash(uint64_t seed) const { return mixHash(seed ^ node, static_cast<uint64_t>(state)); }
};

class Merger {
 public:
  Merger(std::span<const MergePart> parts, const MergeOptions& options)
      : parts_(parts), options_(options) {}

  proxy::Result<Profile> merge();

 private:
  void addColumns();
  void addScalars();
  void translateNodes(size_t part);
  StringId string(size_t part, StringId id);
  LabelSetId labelSet(size_t part, LabelSetId id);
  ThreadId thread(size_t part, ThreadId id);
  std::vector<RowRef> orderedRows() const;
  void addEvent(const RowRef& ref);
  void addToStack(const RowRef& ref);
  void readValues(const RowRef& ref);

  std::span<const MergePart> parts_;
  const MergeOptions& options_;
  ProfileBuilder builder_;
  std::vector<Translation> translations_;
  std::vector<Label> set_labels_;
  LabelSetId set_labels_only_ = 0;
  InternTable<StackKey> stacks_;
  std::vector<int64_t> values_;
};

proxy::Result<Profile> Merger::merge() {
  for (const MergePart& part : parts_) translations_.emplace_back(*part.profile);
  addColumns();
  addScalars();
  for (const auto& [key, text] : options_.labels) {
    set_labels_.push_back({.key = builder_.string(key), .text = builder_.string(text)});
  }
  set_labels_only_ = builder_.labelSet(set_labels_);
  for (size_t part = 0; part < parts_.size(); ++part) translateNodes(part);
  const bool events = options_.detail == MergeDetail::Events;
  for (const RowRef& ref : orderedRows()) {
    if (!builder_.fault().empty()) break;
    readValues(ref);
    events ? addEvent(ref) : addToStack(ref);
  }
  return builder_.take();
}

void Merger::addColumns() {
  using Name = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kCanonical = {Name{"samples", "count"}, Name{"wall", "nanoseconds"},
                                            Name{"cpu", "nanoseconds"}};
  std::vector<Name> names;
  for (const MergePart& part : parts_) {
    for (const ValueType& type : part.profile->value_types) {
      names.emplace_back(part.profile->text(type.type), part.profile->text(type.unit));
    }
  }
  for (const Name& name : kCanonical) {
    if (std::ranges::find(names, name) != names.end())
      builder_.valueColumn(name.first, name.second);
  }
  auto name = names.begin();
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (size_t i = 0; i < parts_[part].profile->value_types.size(); ++i, ++name) {
      translations_[part].columns.push_back(builder_.valueColumn(name->first, name->second));
    }
  }
}

void Merger::addScalars() {
  int64_t start = 0;
  int64_t end = 0;
  bool has_period = false;
  std::string_view default_type;
  for (const std::string& comment : options_.comments) builder_.comment(comment);
  for (const MergePart& part : parts_) {
    const Profile& profile = *part.profile;
    const int64_t begin = profile.start_unix_ns;
    if (begin > 0 && (start == 0 || begin < start)) start = begin;
    end = std::max(end, addSaturating(begin, profile.duration_ns));
    if (profile.period > 0 && !has_period) {
      const ValueType type = profile.period_type;
      builder_.setPeriod(profile.text(type.type), profile.text(type.unit), profile.period);
      has_period = true;
    }
    if (default_type.empty()) default_type = profile.text(profile.default_type);
    for (const StringId comment : profile.comments) builder_.comment(profile.text(comment));
    builder_.loss().add(profile.loss);
  }
  builder_.setSpan(start, end - start);
  builder_.setDefaultType(default_type);
}

void Merger::translateNodes(size_t part) {
  const Profile& profile = *parts_[part].profile;
  std::vector<FrameId> frames;
  frames.reserve(profile.frames.size());
  for (const Frame& frame : profile.frames) {
    const Function& function = profile.functions[frame.function];
    const FunctionId id = builder_.function(
        {string(part, function.name), string(part, function.file), function.line});
    frames.push_back(builder_.frame(id, frame.line, frame.column));
  }
  auto& nodes = translations_[part].nodes;
  nodes.reserve(profile.nodes.size());
  nodes.push_back(kRootNode);
  for (size_t i = 1; i < profile.nodes.size(); ++i) {
    const Node& node = profile.nodes[i];
    nodes.push_back(builder_.child(nodes[node.parent], frames[node.frame]));
  }
}

StringId Merger::string(size_t part, StringId id) {
  StringId& known = translations_[part].strings[id];
  if (known == kNoIndex) known = builder_.string(parts_[part].profile->text(id));
  return known;
}

LabelSetId Merger::labelSet(size_t part, LabelSetId id) {
  LabelSetId& known = translations_[part].label_sets[id];
  if (known != kNoIndex) return known;
  std::vector<Label> labels = set_labels_;
  for (const Label& label : parts_[part].profile->label_sets[id]) {
    const StringId key = string(part, label.key);
    const bool is_set = std::ranges::find(set_labels_, key, &Label::key) != set_labels_.end();
    if (is_set) continue;
    labels.push_back({key, string(part, label.text), label.number, string(part, label.unit)});
  }
  return known = builder_.labelSet(labels);
}

ThreadId Merger::thread(size_t part, ThreadId id) {
  ThreadId& known = translations_[part].threads[id];
  if (known != kNoIndex) return known;
  const Profile& profile = *parts_[part].profile;
  std::string name = parts_[part].thread_prefix;
  name += profile.text(profile.threads[id]);
  return known = builder_.thread(builder_.string(name));
}

std::vector<RowRef> Merger::orderedRows() const {
  std::vector<RowRef> rows;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const auto& timestamps = parts_[part].profile->samples.timestamp_ns;
    for (size_t row = 0; row < timestamps.size(); ++row) {
      rows.push_back({timestamps[row], static_cast<uint32_t>(part), static_cast<uint32_t>(row)});
    }
  }
  std::ranges::stable_sort(rows, {}, &RowRef::timestamp_ns);
  return rows;
}

void Merger::readValues(const RowRef& ref) {
  const auto& columns = translations_[ref.part].columns;
  const auto& values = parts_[ref.part].profile->samples.values;
  values_.assign(builder_.valueColumnCount(), 0);
  for (size_t i = 0; i < columns.size(); ++i) values_[columns[i]] = values[i][ref.row];
}

void Merger::addEvent(const RowRef& ref) {
  const Samples& samples = parts_[ref.part].profile->samples;
  builder_.addSample({.node = translations_[ref.part].nodes[samples.node[ref.row]],
                      .thread = thread(ref.part, samples.thread[ref.row]),
                      .state = samples.state[ref.row],
                      .labels = labelSet(ref.part, samples.labels[ref.row]),
                      .timestamp_ns = ref.timestamp_ns},
                     values_);
}

void Merger::addToStack(const RowRef& ref) {
  const Samples& samples = parts_[ref.part].profile->samples;
  const StackKey key{translations_[ref.part].nodes[samples.node[ref.row]], samples.state[ref.row]};
  const uint32_t row = stacks_.intern(key);
  if (row == builder_.sampleCount()) {
    builder_.addSample({.node = key.node, .state = key.state, .labels = set_labels_only_}, values_);
    return;
  }
  for (size_t column = 0; column < values_.size(); ++column) {
    builder_.addToValue(row, column, values_[column]);
  }
}

}  // namespace

proxy::Result<Profile> mergeProfiles(std::span<const MergePart> parts,
                                     const MergeOptions& options) {
  return Merger(parts, options).merge();
}

}  // namespace flamegate::control
