#include <algorithm>

#include "control/profiles/builder.h"
#include "control/profiles/compression.h"
#include "control/profiles/limits.h"
#include "control/profiles/pprof.h"
#include "control/profiles/pprof_schema.h"
#include "control/profiles/pprof_tables.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

// What the labels of one sample say.
struct SampleLabels {
  StringId thread = 0;
  StringId thread_name = 0;
  StringId thread_name_key = 0;
  int64_t end_ns = 0;
  int64_t timestamp_ns = 0;
  State state = State::Unknown;
};

// Stacks as they stand in the file, and what became of them: most samples repeat a stack byte by
// byte, and finding all of it at once costs far less than walking the tree frame by frame.
class StackMemo {
 public:
  struct Entry {
    std::string_view bytes;
    NodeId node = kNoIndex;  // kNoIndex: new
    bool truncated = false;
  };

  // The reference is good until the next call.
  Entry& find(std::string_view bytes) {
    const auto fresh = static_cast<uint32_t>(entries_.size());
    const uint32_t known = table_.findOrEnter(
        hashItems(bytes, seed_), fresh, [&](uint32_t i) { return entries_[i].bytes == bytes; });
    if (known != IndexTable::kNone) return entries_[known];
    return entries_.emplace_back(Entry{bytes});
  }

 private:
  uint64_t seed_ = hashSeed();
  IndexTable table_;
  std::vector<Entry> entries_;
};

// A label as it was read: neighbouring samples mostly repeat each other's labels byte by byte.
struct SeenLabel {
  std::string_view bytes;
  LabelKey key = LabelKey::Unseen;
  Label label;
  State state = State::Unknown;
};

// Reads one file: the tables first, because they may stand anywhere, then the samples.
class PprofReader {
 public:
  explicit PprofReader(std::string_view bytes) : tables_(bytes, fault_, builder_) {
    fault_.wire.input = bytes.data();
  }

  proxy::Result<Profile> read();

 private:
  bool readSamples();
  bool readSample(std::string_view message);
  bool readFields(std::string_view message);
  bool readStack(std::string_view message, NodeId* node);
  bool readLocations(std::string_view message);
  bool readLabels(SampleRow* row);
  bool readLabel(std::string_view message, SeenLabel* seen);
  void applyLabel(const SeenLabel& seen, SampleLabels* out);
  NodeId expandStack();

  PprofFault fault_;
  ProfileBuilder builder_;
  PprofTables tables_;

  StackMemo stacks_;

  // One sample's parts; members to spare allocations.
  std::string_view packed_stack_;  // empty: the stack is empty or in pieces
  std::vector<uint64_t> stack_, values_;
  std::vector<std::string_view> label_messages_;
  std::vector<uint32_t> locations_;
  std::vector<SeenLabel> seen_labels_;  // by place in the sample
  std::vector<Label> labels_, last_labels_;
  LabelSetId last_label_set_ = 0;
  std::vector<FrameId> frames_;
  std::vector<int64_t> row_values_;
};

proxy::Result<Profile> PprofReader::read() {
  if (tables_.read() && readSamples()) return builder_.take();
  return proxy::fail(fault_.too_large ? ErrorCode::TooLarge : ErrorCode::Malformed,
                     ErrorSource::Agent, std::move(fault_.wire.reason));
}

bool PprofReader::readSamples() {
  builder_.reserveSamples(tables_.sampleMessages().size());
  for (const std::string_view message : tables_.sampleMessages()) {
    if (!readSample(message)) return false;
    if (!builder_.fault().empty()) return fault_.tooLarge(builder_.fault());
  }
  return true;
}

bool PprofReader::readSample(std::string_view message) {
  SampleRow row;
  if (!readFields(message) || !readLabels(&row) || !readStack(message, &row.node)) return false;
  builder_.addSample(row, row_values_);
  return true;
}

bool PprofReader::readFields(std::string_view message) {
  values_.clear();
  label_messages_.clear();
  packed_stack_ = {};
  bool stack_in_pieces = false;
  WireReader reader(message, kSample, fault_.wire);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == 1) {
      stack_in_pieces = stack_in_pieces || !reader.hasBytes() || !packed_stack_.empty();
      if (!stack_in_pieces) reader.bytes(&packed_stack_);
    }
    if (field == 2) reader.numbers(&values_, kValueTypesMax);
    if (field != 3) continue;
    if (label_messages_.size() >= kLabelsPerSampleMax) {
      return fault_.tooLarge("more than 64 labels at one sample");
    }
    reader.bytes(&label_messages_.emplace_back());
  }
  if (stack_in_pieces) packed_stack_ = {};
  if (fault_.wire.any()) return false;
  if (values_.size() != builder_.valueColumnCount()) {
    return fault_.malformed(kSample, 2, message.data(),
                            std::to_string(values_.size()) + " values for " +
                                std::to_string(builder_.valueColumnCount()) + " types of values");
  }
  row_values_.assign(values_.begin(), values_.end());
  return true;
}

// A stack that is one packed run, as every writer makes it, is looked up whole; any other is read.
bool PprofReader::readStack(std::string_view message, NodeId* node) {
  if (packed_stack_.empty()) {
    if (!readLocations(message)) return false;
    *node = expandStack();
    return true;
  }
  StackMemo::Entry& entry = stacks_.find(packed_stack_);
  uint64_t& truncated = builder_.loss().truncated_stacks;
  if (entry.node == kNoIndex) {
    const uint64_t before = truncated;
    if (!readLocations(message)) return false;
    entry.node = expandStack();
    entry.truncated = truncated > before;
  } else if (entry.truncated) {
    ++truncated;
  }
  *node = entry.node;
  return true;
}

bool PprofReader::readLocations(std::string_view message) {
  stack_.clear();
  locations_.clear();
  WireReader reader(message, kSample, fault_.wire);
  while (reader.next()) {
    if (reader.field() == 1) reader.numbers(&stack_, kStackEntriesMax);
  }
  if (fault_.wire.any()) return false;
  for (const uint64_t id : stack_) {
    locations_.push_back(tables_.findLocation(id));
    if (locations_.back() == kNoIndex) {
      return fault_.malformed(kSample, 1, message.data(),
                              "there is no location " + std::to_string(id));
    }
  }
  return true;
}

bool PprofReader::readLabels(SampleRow* row) {
  labels_.clear();
  SampleLabels found;
  if (seen_labels_.size() < label_messages_.size()) seen_labels_.resize(label_messages_.size());
  for (size_t i = 0; i < label_messages_.size(); ++i) {
    SeenLabel& seen = seen_labels_[i];
    const bool known = seen.key != LabelKey::Unseen && seen.bytes == label_messages_[i];
    if (!known && !readLabel(label_messages_[i], &seen)) return false;
    applyLabel(seen, &found);
  }
  if (found.thread == 0) {
    found.thread = found.thread_name;
  } else if (found.thread_name != 0) {
    labels_.push_back({.key = found.thread_name_key, .text = found.thread_name});
  }
  row->thread = builder_.thread(found.thread);
  row->state = found.state;
  row->timestamp_ns = found.timestamp_ns;
  if (found.timestamp_ns == 0 && found.end_ns > 0) {
    const size_t time = tables_.timeColumn();
    const int64_t lasted = time == kNoIndex ? 0 : std::max<int64_t>(row_values_[time], 0);
    row->timestamp_ns = found.end_ns - std::min(lasted, found.end_ns);
  }
  if (labels_ != last_labels_) {
    last_label_set_ = builder_.labelSet(labels_);
    last_labels_ = labels_;
  }
  row->labels = last_label_set_;
  return true;
}

bool PprofReader::readLabel(std::string_view message, SeenLabel* seen) {
  uint64_t texts[3] = {};  // key, text, unit
  int64_t number = 0;
  WireReader reader(message, kLabel, fault_.wire);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == 3) reader.number(&number);
    if (field != 1 && field != 2 && field != 4) continue;
    uint64_t& index = texts[field == 4 ? 2 : field - 1];
    if (reader.number(&index)) tables_.inTable(reader, index);
  }
  if (fault_.wire.any()) return false;
  const auto [key, text, unit] = texts;
  seen->bytes = message;
  seen->key = tables_.labelKey(key);
  if (seen->key == LabelKey::State) {
    const std::optional<State> state = findState(tables_.text(text));
    seen->state = state.value_or(State::Unknown);
    if (state) return true;
    seen->key = LabelKey::Other;
  }
  const bool is_number = text == 0;
  seen->label = {.text = tables_.string(text), .number = is_number ? number : 0};
  if (seen->key == LabelKey::Other || seen->key == LabelKey::ThreadName) {
    seen->label.key = tables_.string(key);
    seen->label.unit = is_number ? tables_.string(unit) : 0;
  }
  if (seen->key == LabelKey::Thread && is_number) {
    seen->label.text = builder_.string(std::to_string(number));
  }
  return true;
}

void PprofReader::applyLabel(const SeenLabel& seen, SampleLabels* out) {
  const Label& label = seen.label;
  switch (seen.key) {
    case LabelKey::Timestamp:
      out->timestamp_ns = label.number;
      return;
    case LabelKey::EndTimestamp:
      out->end_ns = label.number;
      return;
    case LabelKey::Thread:
      out->thread = label.text;
      return;
    case LabelKey::ThreadName:
      out->thread_name = label.text;
      out->thread_name_key = label.key;
      return;
    case LabelKey::State:
      out->state = seen.state;
      return;
    case LabelKey::Other:
    case LabelKey::Unseen:
      labels_.push_back(label);
      return;
  }
}

// A stack that is too deep is cut before it is expanded: inlined calls can make it far longer than
// its bytes.
NodeId PprofReader::expandStack() {
  frames_.clear();
  size_t depth = 0;
  for (const uint32_t location : locations_) depth += tables_.framesOf(location).size();
  if (depth <= kDepthMax) {
    for (auto at = locations_.rbegin(); at != locations_.rend(); ++at) {
      for (const FrameId frame : tables_.framesOf(*at)) frames_.push_back(frame);
    }
    return builder_.stack(frames_);
  }
  for (auto at = locations_.rbegin(); frames_.size() < kDepthRootSide; ++at) {
    const auto frames = tables_.framesOf(*at);
    const size_t room = std::min(kDepthRootSide - frames_.size(), frames.size());
    frames_.insert(frames_.end(), frames.begin(), frames.begin() + static_cast<ptrdiff_t>(room));
  }
  frames_.push_back(builder_.truncationMark());
  const size_t leaf_side = frames_.size();
  for (auto at = locations_.begin(); frames_.size() < kDepthMax; ++at) {
    const auto frames = tables_.framesOf(*at);
    const size_t room = std::min(kDepthMax - frames_.size(), frames.size());
    frames_.insert(frames_.end(), frames.rbegin(), frames.rbegin() + static_cast<ptrdiff_t>(room));
  }
  std::reverse(frames_.begin() + static_cast<ptrdiff_t>(leaf_side), frames_.end());
  return builder_.stack(frames_);
}

}  // namespace

proxy::Result<Profile> decodePprof(std::string_view bytes) {
  if (bytes.empty()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, "the file is empty");
  }
  if (!looksLikeGzip(bytes)) {
    if (bytes.size() > kInflatedBytesMax) {
      return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, "more than 32 MiB");
    }
    return PprofReader(bytes).read();
  }
  const proxy::Result<std::string> plain = inflateGzip(bytes);
  if (!plain) return proxy::fail(plain.error());
  return PprofReader(*plain).read();
}

}  // namespace flamegate::control
