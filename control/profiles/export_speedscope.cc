#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/slices.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

std::string_view speedscopeUnit(const Profile& profile) {
  const TimeWeight weight = timeWeight(profile);
  if (weight.is_time) return "nanoseconds";
  if (weight.column == kNoIndex) return "none";
  return profile.text(profile.value_types[weight.column].unit) == "bytes" ? "bytes" : "none";
}

void appendFrames(std::string* out, const Profile& profile) {
  out->push_back('[');
  for (size_t i = 0; i < profile.functions.size(); ++i) {
    const Function& function = profile.functions[i];
    *out += i > 0 ? ",{\"name\":" : "{\"name\":";
    appendJsonString(out, profile.text(function.name));
    if (function.file != 0) {
      *out += ",\"file\":";
      appendJsonString(out, profile.text(function.file));
    }
    if (function.line > 0) {
      *out += ",\"line\":";
      appendNumber(out, function.line);
    }
    out->push_back('}');
  }
  out->push_back(']');
}

// [frame,…], root first.
void appendStack(std::string* out, const Profile& profile, NodeId node,
                 std::vector<uint32_t>* scratch) {
  scratch->clear();
  for (; node != kRootNode; node = profile.nodes[node].parent) {
    scratch->push_back(profile.frames[profile.nodes[node].frame].function);
  }
  out->push_back('[');
  for (size_t i = scratch->size(); i-- > 0;) {
    appendNumber(out, (*scratch)[i]);
    if (i > 0) out->push_back(',');
  }
  out->push_back(']');
}

// Stacks and weights of one thread, in step; a gap is an empty stack.
class ThreadProfile {
 public:
  ThreadProfile(const Profile& profile, const ThreadSlices& thread)
      : profile_(profile), thread_(thread) {}

  bool append(std::string* out) {
    const auto& slices = thread_.slices;
    *out += "\"startValue\":";
    appendNumber(out, slices.front().begin_ns);
    *out += ",\"endValue\":";
    appendNumber(out, slices.back().end());
    *out += ",\"samples\":[";
    std::vector<int64_t> weights;
    int64_t at = slices.front().begin_ns;
    for (const Slice& slice : slices) {
      if (slice.begin_ns > at) {
        *out += weights.empty() ? "[]" : ",[]";
        weights.push_back(slice.begin_ns - at);
      }
      if (!weights.empty()) out->push_back(',');
      appendStack(out, profile_, profile_.samples.node[slice.row], &stack_);
      weights.push_back(slice.duration_ns);
      at = slice.end();
      if (isOverExportLimit(*out)) return false;
    }
    *out += "],\"weights\":";
    appendJsonArray(out, weights);
    return true;
  }

 private:
  const Profile& profile_;
  const ThreadSlices& thread_;
  std::vector<uint32_t> stack_;
};

void appendProfileHead(std::string* out, std::string_view name, std::string_view unit) {
  *out += "{\"type\":\"sampled\",\"name\":";
  appendJsonString(out, name);
  *out += ",\"unit\":";
  appendJsonString(out, unit);
  out->push_back(',');
}

}  // namespace

proxy::Result<std::string> exportSpeedscope(const Profile& profile, const ExportContext& context) {
  const TimeAxis axis = timeAxis(profile);
  const std::string_view unit = speedscopeUnit(profile);
  std::string out =
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
      "\"flamegate\",\"name\":";
  appendJsonString(&out, context.label.empty() ? context.id : context.label);
  out += ",\"activeProfileIndex\":0,\"shared\":{\"frames\":";
  appendFrames(&out, profile);
  out += "},\"profiles\":[";
  for (size_t i = 0; i < axis.threads.size(); ++i) {
    const std::string_view name = profile.text(profile.threads[axis.threads[i].thread]);
    if (i > 0) out.push_back(',');
    appendProfileHead(&out, name.empty() ? "samples" : name, unit);
    if (!ThreadProfile(profile, axis.threads[i]).append(&out)) return exportTooLarge("speedscope");
    out.push_back('}');
  }
  if (axis.threads.empty()) {
    appendProfileHead(&out, "no samples", unit);
    out += "\"startValue\":0,\"endValue\":0,\"samples\":[],\"weights\":[]}";
  }
  out += "]}\n";
  return out;
}

}  // namespace flamegate::control
