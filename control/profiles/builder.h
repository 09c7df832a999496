// Makes profiles: interns every part, keeps to the limits, counts what it cuts.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "control/profiles/model.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// One sample to be added; its values come beside it.
struct SampleRow {
  NodeId node = kRootNode;
  ThreadId thread = 0;
  State state = State::Unknown;
  LabelSetId labels = 0;
  int64_t timestamp_ns = 0;
};

// Owner: the function that reads one input. Thread: its caller's. Ends: take().
//
// The interning members never fail. Whether the whole outgrew a limit is asked once, by fault(),
// so that readers stay free of error paths; the builder stops growing at the limits by itself.
class ProfileBuilder {
 public:
  ProfileBuilder();

  // Makes the text valid UTF-8 and cuts it to the limit.
  StringId string(std::string_view text);
  FunctionId function(std::string_view name, std::string_view file = {}, int64_t line = 0);
  FunctionId function(const Function& function) { return functions_.intern(function); }
  FrameId frame(FunctionId function, int64_t line = 0, int64_t column = 0);
  ThreadId thread(StringId name);
  LabelSetId labelSet(std::span<const Label> labels) { return label_sets_.intern(labels); }

  NodeId child(NodeId parent, FrameId frame);
  // The node of a whole stack, root first. A stack deeper than kDepthMax loses its middle: both
  // the path from the root and the innermost calls stay true.
  NodeId stack(std::span<const FrameId> root_first);
  // The frame in place of a cut, for readers that cut before they expand; counts one stack.
  FrameId truncationMark();

  // The column for a type of value; a new column holds zeros for the samples so far.
  size_t valueColumn(std::string_view type, std::string_view unit);
  size_t valueColumnCount() const { return profile_.value_types.size(); }

  // Values beyond the given ones are 0; there are never more than columns.
  void addSample(const SampleRow& row, std::span<const int64_t> values);
  // Spares reallocations to a reader that knows how many samples and columns there will be.
  void reserveSamples(size_t count);
  size_t sampleCount() const { return profile_.samples.size(); }
  // Adds to a value of the sample that was added as number `row`.
  void addToValue(size_t row, size_t column, int64_t value);

  // Adds the text unless it is there already or kCommentsMax is reached.
  void comment(std::string_view text);

  // The fields that need no table.
  void setPeriod(std::string_view type, std::string_view unit, int64_t period);
  void setSpan(int64_t start_unix_ns, int64_t duration_ns);
  void setDefaultType(std::string_view type) { profile_.default_type = string(type); }
  Loss& loss() { return profile_.loss; }

  std::string_view text(StringId id) const;

  // Which limit was hit, for the error's text; "" while all is well.
  std::string_view fault() const { return fault_; }

  // The profile, or TooLarge with the fault. The builder is spent.
  proxy::Result<Profile> take();

 private:
  Profile profile_;
  SequenceInterner<char> strings_;
  InternTable<Function> functions_;
  InternTable<Frame> frames_;
  InternTable<Node> nodes_;
  SequenceInterner<Label> label_sets_;
  std::vector<ThreadId> thread_of_name_;  // by StringId
  std::string_view fault_;

  // The stack before: samples next to each other share most of theirs.
  std::vector<FrameId> last_frames_;
  std::vector<NodeId> last_nodes_;
};

}  // namespace flamegate::control
