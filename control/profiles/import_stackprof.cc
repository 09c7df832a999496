#include <algorithm>
#include <array>
#include <map>

#include "control/profiles/builder.h"
#include "control/profiles/importers.h"
#include "control/profiles/json_input.h"
#include "control/profiles/limits.h"

namespace flamegate::control {
namespace {

using nlohmann::json;
using proxy::ErrorCode;
using proxy::ErrorSource;

constexpr int64_t kNsInMicrosecond = 1000;

bool isGcFrame(std::string_view name) {
  return name == "(garbage collection)" || name == "(marking)" || name == "(sweeping)";
}

class StackprofReader {
 public:
  proxy::Result<Profile> read(const json& document);

 private:
  struct KnownFrame {
    FrameId frame = 0;
    bool gc = false;
  };

  bool fail(std::string reason) {
    if (fault_.empty()) fault_ = std::move(reason);
    return false;
  }
  void readMode(const json& document);
  bool readFrames(const json& frames);
  bool readRaw(const json& raw, const json& deltas);
  bool readStack(const json& raw, size_t begin, size_t length);
  void readTotals(const json& frames);
  void addSample(int64_t count, int64_t value);

  ProfileBuilder builder_;
  std::map<std::string, KnownFrame, std::less<>> frames_;  // by the id's decimal digits
  std::vector<FrameId> stack_;
  State state_ = State::Running;
  int64_t interval_ns_ = 0;  // 0: samples are not a time
  std::string fault_;
};

proxy::Result<Profile> StackprofReader::read(const json& document) {
  readMode(document);
  const json& frames = memberOf(document, "frames");
  const json& raw = memberOf(document, "raw");
  bool ok = readFrames(frames);
  if (ok && raw.is_array()) ok = readRaw(raw, memberOf(document, "raw_timestamp_deltas"));
  if (!ok) return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, fault_);
  if (!raw.is_array()) readTotals(frames);
  if (const int64_t missed = integerOf(memberOf(document, "missed_samples")); missed > 0) {
    builder_.comment("stackprof: missed_samples=" + std::to_string(missed));
  }
  return builder_.take();
}

// The interval is in microseconds for times, in allocations for objects.
void StackprofReader::readMode(const json& document) {
  const std::string_view mode = textOf(memberOf(document, "mode"));
  builder_.valueColumn("samples", "count");
  if (mode == "wall" || mode == "cpu") {
    builder_.valueColumn(mode, "nanoseconds");
    interval_ns_ = multiplySaturating(
        std::max<int64_t>(integerOf(memberOf(document, "interval")), 0), kNsInMicrosecond);
    builder_.setPeriod(mode, "nanoseconds", interval_ns_);
  }
}

bool StackprofReader::readFrames(const json& frames) {
  if (!frames.is_object()) return fail("frames is not an object");
  for (const auto& [id, frame] : frames.items()) {
    const std::string_view name = textOf(memberOf(frame, "name"));
    const FunctionId function = builder_.function(name, textOf(memberOf(frame, "file")),
                                                  integerOf(memberOf(frame, "line")));
    frames_[id] = {builder_.frame(function), isGcFrame(name)};
  }
  return true;
}

void StackprofReader::addSample(int64_t count, int64_t value) {
  const std::array values = {count, value};
  builder_.addSample({.node = builder_.stack(stack_), .state = state_},
                     std::span(values).first(builder_.valueColumnCount()));
}

bool StackprofReader::readStack(const json& raw, size_t begin, size_t length) {
  stack_.clear();
  state_ = State::Running;
  for (size_t i = begin; i < begin + length; ++i) {
    const json& id = raw[i];
    const auto* text = id.get_ptr<const std::string*>();
    const auto known = frames_.find(text != nullptr ? *text : id.dump());
    if (known == frames_.end()) return fail("raw names a frame that is not in frames");
    if (known->second.gc) state_ = State::Gc;
    stack_.push_back(known->second.frame);
  }
  return true;
}

// raw: the stack's length, its frames from the root on, how often it followed itself; and so on.
// deltas: for each of those samples the microseconds since the one before it.
bool StackprofReader::readRaw(const json& raw, const json& deltas) {
  size_t delta = 0;
  for (size_t at = 0; at < raw.size() && builder_.fault().empty();) {
    const int64_t length = integerOf(raw[at], -1);
    if (length < 0 || static_cast<uint64_t>(length) + 1 >= raw.size() - at) {
      return fail("raw ends within a stack");
    }
    if (!readStack(raw, at + 1, static_cast<size_t>(length))) return false;
    at += static_cast<size_t>(length) + 2;
    int64_t count = integerOf(raw[at - 1]);
    if (count < 0) return fail("raw has a negative count");
    for (; count > 0 && delta < deltas.size(); --count, ++delta) {
      const int64_t lasted = std::max<int64_t>(integerOf(deltas[delta]), 0);
      addSample(1, multiplySaturating(lasted, kNsInMicrosecond));
    }
    if (count > 0) addSample(count, multiplySaturating(count, interval_ns_));
  }
  return true;
}

void StackprofReader::readTotals(const json& frames) {
  for (const auto& [id, frame] : frames.items()) {
    const int64_t count = integerOf(memberOf(frame, "samples"));
    if (count <= 0) continue;
    const KnownFrame& known = frames_[id];
    stack_.assign(1, known.frame);
    state_ = known.gc ? State::Gc : State::Running;
    addSample(count, multiplySaturating(count, interval_ns_));
  }
}

}  // namespace

proxy::Result<Profile> importStackprof(std::string_view bytes, const ImportOptions&) {
  const proxy::Result<json> document = parseJson(bytes);
  if (!document) return proxy::fail(document.error());
  return StackprofReader().read(*document);
}

}  // namespace flamegate::control
