#include <array>

#include "control/profiles/builder.h"
#include "control/profiles/importers.h"
#include "control/profiles/json_input.h"

namespace flamegate::control {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

// How a unit of speedscope's reads as a type of values.
struct Unit {
  std::string_view name;
  std::string_view type;
  std::string_view unit;
  double factor;
};
constexpr std::array kUnits = {
    Unit{"nanoseconds", "wall", "nanoseconds", 1},
    Unit{"microseconds", "wall", "nanoseconds", 1e3},
    Unit{"milliseconds", "wall", "nanoseconds", 1e6},
    Unit{"seconds", "wall", "nanoseconds", 1e9},
    Unit{"bytes", "space", "bytes", 1},
    Unit{"none", "weight", "count", 1},
};

class SpeedscopeReader {
 public:
  proxy::Result<Profile> read(const json& document);

 private:
  bool fail(std::string reason) {
    if (fault_.empty()) fault_ = std::move(reason);
    return false;
  }
  bool readFrames(const json& frames);
  bool readProfile(const json& profile);
  bool readSampled(const json& profile);
  bool readEvented(const json& profile);
  bool readStack(const json& stack);
  bool frameAt(const json& index, FrameId* frame);
  // One sample of the frames in stack_.
  void addSample(double weight);

  ProfileBuilder builder_;
  std::vector<FrameId> frames_;
  std::vector<FrameId> stack_;
  const Unit* unit_ = nullptr;
  size_t column_ = 0;
  ThreadId thread_ = 0;
  std::string fault_;
};

proxy::Result<Profile> SpeedscopeReader::read(const json& document) {
  builder_.valueColumn("samples", "count");
  const json& profiles = memberOf(document, "profiles");
  bool ok = readFrames(memberOf(memberOf(document, "shared"), "frames"));
  if (ok && !profiles.is_array()) ok = fail("profiles is not a list");
  if (ok) {
    for (const json& profile : profiles) {
      if (!readProfile(profile)) break;
    }
  }
  if (!fault_.empty()) return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, fault_);
  return builder_.take();
}

bool SpeedscopeReader::readFrames(const json& frames) {
  if (!frames.is_array()) return fail("shared.frames is not a list");
  for (const json& frame : frames) {
    if (!frame.is_object()) return fail("a frame is not an object");
    const FunctionId function =
        builder_.function(textOf(memberOf(frame, "name")), textOf(memberOf(frame, "file")),
                          integerOf(memberOf(frame, "line")));
    frames_.push_back(builder_.frame(function, 0, integerOf(memberOf(frame, "col"))));
  }
  return true;
}

bool SpeedscopeReader::readProfile(const json& profile) {
  const std::string_view unit = textOf(memberOf(profile, "unit"));
  unit_ = nullptr;
  for (const Unit& known : kUnits) {
    if (known.name == unit) unit_ = &known;
  }
  if (unit_ == nullptr) return fail("a profile has no unit that speedscope knows");
  column_ = builder_.valueColumn(unit_->type, unit_->unit);
  thread_ = builder_.thread(builder_.string(textOf(memberOf(profile, "name"))));
  const std::string_view type = textOf(memberOf(profile, "type"));
  if (type == "sampled") return readSampled(profile);
  if (type == "evented") return readEvented(profile);
  return fail("a profile is neither sampled nor evented");
}

bool SpeedscopeReader::frameAt(const json& index, FrameId* frame) {
  if (!index.is_number_unsigned() || index.get<uint64_t>() >= frames_.size()) {
    return fail("a stack names a frame that is not in shared.frames");
  }
  *frame = frames_[index.get<uint64_t>()];
  return true;
}

bool SpeedscopeReader::readStack(const json& stack) {
  stack_.clear();
  if (!stack.is_array()) return fail("a stack is not a list");
  for (const json& index : stack) {
    if (!frameAt(index, &stack_.emplace_back())) return false;
  }
  return true;
}

void SpeedscopeReader::addSample(double weight) {
  std::array<int64_t, 8> values{};
  values[0] = 1;
  values[column_] = roundToInteger(weight * unit_->factor);
  builder_.addSample({.node = builder_.stack(stack_), .thread = thread_},
                     std::span(values).first(builder_.valueColumnCount()));
}

bool SpeedscopeReader::readSampled(const json& profile) {
  const json& samples = memberOf(profile, "samples");
  const json& weights = memberOf(profile, "weights");
  if (!samples.is_array() || !weights.is_array() || samples.size() != weights.size()) {
    return fail("a profile's samples and weights are not two lists of one length");
  }
  for (size_t i = 0; i < samples.size() && builder_.fault().empty(); ++i) {
    if (!readStack(samples[i])) return false;
    addSample(realOf(weights[i]));
  }
  return true;
}

// Between two events of different times lies one sample of the frames that are open.
bool SpeedscopeReader::readEvented(const json& profile) {
  const json& events = memberOf(profile, "events");
  if (!events.is_array()) return fail("a profile's events are not a list");
  double at = realOf(memberOf(profile, "startValue"));
  stack_.clear();
  for (const json& event : events) {
    if (!builder_.fault().empty()) break;
    const double time = realOf(memberOf(event, "at"), at);
    if (time < at) return fail("an event is earlier than the one before it");
    if (time > at) addSample(time - at);
    at = time;
    FrameId frame = 0;
    if (!frameAt(memberOf(event, "frame"), &frame)) return false;
    const std::string_view type = textOf(memberOf(event, "type"));
    if (type == "O") {
      stack_.push_back(frame);
    } else if (type == "C" && !stack_.empty() && stack_.back() == frame) {
      stack_.pop_back();
    } else {
      return fail("an event closes a frame that is not the innermost");
    }
  }
  const double end = realOf(memberOf(profile, "endValue"), at);
  if (end > at && !stack_.empty()) addSample(end - at);
  return true;
}

}  // namespace

proxy::Result<Profile> importSpeedscope(std::string_view bytes, const ImportOptions&) {
  const proxy::Result<json> document = parseJson(bytes);
  if (!document) return proxy::fail(document.error());
  return SpeedscopeReader().read(*document);
}

}  // namespace flamegate::control
