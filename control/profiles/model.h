// A profile in memory: tables of plain values that refer to each other by index.
//
// Stacks are nodes of one call tree, samples are rows of one table, so a profile of any size is a
// handful of vectors. A ProfileBuilder makes it; afterwards it is a value that nobody changes and
// that any thread may read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/profiles/intern.h"

namespace flamegate::control {

using StringId = uint32_t;  // 0: the empty string
using FunctionId = uint32_t;
using FrameId = uint32_t;
using NodeId = uint32_t;      // 0: the root, which has no frame
using ThreadId = uint32_t;    // 0: the thread is not known
using LabelSetId = uint32_t;  // 0: no labels

inline constexpr uint32_t kNoIndex = 0xffffffff;
inline constexpr NodeId kRootNode = 0;

// What the thread did while the sample lasted. Unknown: the source does not say, as is usual for
// profiles of CPU time.
enum class State : uint8_t { Running, Waiting, Gil, Gc, Unknown };

// "running", "waiting", "gil", "gc"; "" for Unknown.
std::string_view stateName(State state);
// Also the words of other profilers ("runnable", "lock", "gvl", …); nothing for any other text.
std::optional<State> findState(std::string_view name);

// Viewers know four states: Unknown is shown as Running.
inline constexpr size_t kShownStateCount = 4;
inline size_t shownState(State state) {
  return state == State::Unknown ? 0 : static_cast<size_t>(state);
}

struct ValueType {
  StringId type = 0;
  StringId unit = 0;
  bool operator==(const ValueType&) const = default;
};

struct Function {
  StringId name = 0;
  StringId file = 0;
  int32_t line = 0;  // where it begins; 0: not known
  bool operator==(const Function&) const = default;
  uint64_t hash(uint64_t seed) const {
    return mixHash(mixHash(seed ^ name, file), static_cast<uint32_t>(line));
  }
};

// A place in a function. A call that the compiler inlined is a frame like any other.
struct Frame {
  FunctionId function = 0;
  int32_t line = 0;  // 0: not known
  int32_t column = 0;
  bool operator==(const Frame&) const = default;
  uint64_t hash(uint64_t seed) const {
    const uint64_t place =
        (uint64_t{static_cast<uint32_t>(line)} << 32) | static_cast<uint32_t>(column);
    return mixHash(seed ^ function, place);
  }
};

// A call path. A parent's index is below its children's.
struct Node {
  NodeId parent = kNoIndex;
  FrameId frame = kNoIndex;
  bool operator==(const Node&) const = default;
  uint64_t hash(uint64_t seed) const { return mixHash(seed, (uint64_t{parent} << 32) | frame); }
};

// One label of a sample: a text, or a number with a unit when the text is empty.
struct Label {
  StringId key = 0;
  StringId text = 0;
  int64_t number = 0;
  StringId unit = 0;
  bool operator==(const Label&) const = default;
};
uint64_t hashItems(std::span<const Label> labels, uint64_t seed);

// One row a sample; all columns are of one length.
struct Samples {
  std::vector<NodeId> node;
  std::vector<ThreadId> thread;
  std::vector<State> state;
  std::vector<LabelSetId> labels;
  std::vector<int64_t> timestamp_ns;         // Unix time of the sample's beginning; 0: not known
  std::vector<std::vector<int64_t>> values;  // one column for each of Profile::value_types

  size_t size() const { return node.size(); }
};

// What the profile lost on its way here. It is always reported, never hidden.
struct Loss {
  uint64_t truncated_stacks = 0;
  uint64_t cut_strings = 0;
  uint64_t bad_lines = 0;       // of a text format
  uint64_t first_bad_line = 0;  // from 1; 0: none

  bool any() const { return truncated_stacks + cut_strings + bad_lines > 0; }
  void add(const Loss& other) {
    truncated_stacks += other.truncated_stacks;
    cut_strings += other.cut_strings;
    bad_lines += other.bad_lines;
    if (first_bad_line == 0) first_bad_line = other.first_bad_line;
  }
};

struct Profile {
  SequencePool<char> strings;
  std::vector<ValueType> value_types;
  std::vector<Function> functions;
  std::vector<Frame> frames;
  std::vector<Node> nodes = {Node{}};
  std::vector<StringId> threads = {0};
  SequencePool<Label> label_sets;
  Samples samples;
  std::vector<StringId> comments;
  ValueType period_type;
  int64_t period = 0;
  int64_t start_unix_ns = 0;  // 0: not known
  int64_t duration_ns = 0;    // 0: not known
  StringId default_type = 0;  // the source's wish which value to show
  Loss loss;

  std::string_view text(StringId id) const {
    const auto bytes = strings[id];
    return {bytes.data(), bytes.size()};
  }
  const Function& functionOf(NodeId node) const {
    return functions[frames[nodes[node].frame].function];
  }
};

// The frame that stands for what was cut out of a stack that is too deep.
inline constexpr std::string_view kTruncatedName = "[truncated]";

// Sums never wrap: they stop at the ends of the range.
inline int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}
inline int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}

}  // namespace flamegate::control
