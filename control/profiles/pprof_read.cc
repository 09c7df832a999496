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
  bool resolve(std::string_view message);
  bool readLabels(SampleRow* row);
  bool readLabel(std::string_view message, SampleLabels* out);
  NodeId expandStack();

  PprofFault fault_;
  ProfileBuilder builder_;
  PprofTables tables_;

  // One sample's parts; members to spare allocations.
  std::vector<uint64_t> stack_, values_;
  std::vector<std::string_view> label_messages_;
  std::vector<uint32_t> locations_;
  std::vector<Label> labels_;
  std::vector<FrameId> frames_;
  std::vector<int64_t> row_values_;
};

proxy::Result<Profile> PprofReader::read() {
  if (tables_.read() && readSamples()) return builder_.take();
  return proxy::fail(fault_.too_large ? ErrorCode::TooLarge : ErrorCode::Malformed,
                     ErrorSource::Agent, std::move(fault_.wire.reason));
}

bool PprofReader::readSamples() {
  for (const std::string_view message : tables_.sampleMessages()) {
    if (!readSample(message)) return false;
    if (!builder_.fault().empty()) return fault_.tooLarge(builder_.fault());
  }
  return true;
}

bool PprofReader::readSample(std::string_view message) {
  SampleRow row;
  if (!readFields(message) || !resolve(message) || !readLabels(&row)) return false;
  row.node = expandStack();
  builder_.addSample(row, row_values_);
  return true;
}

bool PprofReader::readFields(std::string_view message) {
  stack_.clear();
  values_.clear();
  label_messages_.clear();
  WireReader reader(message, kSample, fault_.wire);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == 1) reader.numbers(&stack_, kStackEntriesMax);
    if (field == 2) reader.numbers(&values_, kValueTypesMax);
    if (field != 3) continue;
    if (label_messages_.size() >= kLabelsPerSampleMax) {
      return fault_.tooLarge("more than 64 labels at one sample");
    }
    reader.bytes(&label_messages_.emplace_back());
  }
  return !fault_.wire.any();
}

bool PprofReader::resolve(std::string_view message) {
  if (values_.size() != builder_.valueColumnCount()) {
    return fault_.malformed(kSample, 2, message.data(),
                            std::to_string(values_.size()) + " values for " +
                                std::to_string(builder_.valueColumnCount()) + " types of values");
  }
  row_values_.assign(values_.begin(), values_.end());
  locations_.clear();
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
  for (const std::string_view message : label_messages_) {
    if (!readLabel(message, &found)) return false;
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
  row->labels = builder_.labelSet(labels_);
  return true;
}

bool PprofReader::readLabel(std::string_view message, SampleLabels* out) {
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
  switch (tables_.labelKey(key)) {
    case LabelKey::Timestamp:
      out->timestamp_ns = number;
      return true;
    case LabelKey::EndTimestamp:
      out->end_ns = number;
      return true;
    case LabelKey::Thread:
      out->thread = text != 0 ? tables_.string(text) : builder_.string(std::to_string(number));
      return true;
    case LabelKey::ThreadName:
      out->thread_name = tables_.string(text);
      out->thread_name_key = tables_.string(key);
      return true;
    case LabelKey::State:
      if (const auto state = findState(tables_.text(text))) {
        out->state = *state;
        return true;
      }
      break;
    case LabelKey::Other:
    case LabelKey::Unseen:
      break;
  }
  labels_.push_back(
      {tables_.string(key), tables_.string(text), text == 0 ? number : 0, tables_.string(unit)});
  return true;
}

// A stack that is too deep is cut before it is expanded: inlined calls can make it far longer than
// its bytes.
NodeId PprofReader::expandStack() {
  frames_.clear();
  size_t depth = 0;
  for (const uint32_t location : locations_) depth += tables_.framesOf(location).size();
  if (depth <= kDepthMax) {
    for (auto at = locations_.rbegin(); at != locations_.rend(); ++at) {
      const auto frames = tables_.framesOf(*at);
      frames_.insert(frames_.end(), frames.begin(), frames.end());
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
