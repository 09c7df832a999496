#include "tests/control/profiles/profile_fixtures.h"

#include <array>

#include "control/profiles/builder.h"
#include "proxy/base/check.h"

namespace flamegate::control {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kMillisecond = 1'000'000;

FrameId parseFrame(ProfileBuilder* builder, const std::string& text) {
  const size_t at = text.find('@');
  const int64_t line = at == std::string::npos ? 0 : std::stoll(text.substr(at + 1));
  const std::string name = text.substr(0, at);
  return builder->frame(builder->function(name, "app/" + name + ".py", 1), line);
}

NodeId parseStack(ProfileBuilder* builder, const std::vector<std::string>& frames) {
  std::vector<FrameId> ids;
  for (const std::string& text : frames) ids.push_back(parseFrame(builder, text));
  return builder->stack(ids);
}

}  // namespace

Profile requestProfile() {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  builder.valueColumn("wall", "nanoseconds");
  builder.valueColumn("cpu", "nanoseconds");
  builder.setPeriod("wall", "nanoseconds", kMillisecond);
  builder.setSpan(kStart, 10 * kMillisecond);
  builder.setDefaultType("wall");
  builder.comment("flamegate: period_us=1000 ticks_expected=10 ticks_taken=10 ticks_missed=0");
  const std::array labels = {
      Label{builder.string("endpoint"), builder.string("GET /homepage"), 0, 0},
      Label{builder.string("profile_id"), builder.string("01hzy8abcdefghij2345"), 0, 0},
      Label{builder.string("bytes"), 0, 512, builder.string("bytes")}};
  const LabelSetId label_set = builder.labelSet(labels);
  const ThreadId main = builder.thread(builder.string("main"));
  const ThreadId worker = builder.thread(builder.string("worker"));
  const NodeId query = parseStack(&builder, {"handler@10", "query@31"});
  const NodeId render = parseStack(&builder, {"handler@12", "render@7"});
  const NodeId escape = parseStack(&builder, {"handler@12", "render@8", "escape@3"});
  const NodeId collect = parseStack(&builder, {"collect@2"});
  const auto add = [&](int64_t at, NodeId node, ThreadId thread, State state, int64_t cpu) {
    builder.addSample({node, thread, state, label_set, kStart + at * kMillisecond},
                      std::array<int64_t, 3>{1, kMillisecond, cpu});
  };
  for (int64_t i = 0; i < 4; ++i) add(i, query, main, State::Waiting, 0);
  for (int64_t i = 4; i < 7; ++i) add(i, render, main, State::Running, 900'000);
  add(6, collect, worker, State::Gc, kMillisecond);
  for (int64_t i = 7; i < 9; ++i) add(i, escape, main, State::Running, kMillisecond);
  add(9, render, main, State::Gil, 0);
  return std::move(*builder.take());
}

Profile stacksProfile(std::initializer_list<std::pair<std::vector<std::string>, int64_t>> stacks) {
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  for (const auto& [frames, value] : stacks) {
    builder.addSample({.node = parseStack(&builder, frames)}, std::array{value});
  }
  return std::move(*builder.take());
}

std::vector<std::string> describeSamples(const Profile& profile) {
  std::vector<std::string> lines;
  const Samples& samples = profile.samples;
  for (size_t row = 0; row < samples.size(); ++row) {
    std::string stack;
    for (NodeId node = samples.node[row]; node != kRootNode; node = profile.nodes[node].parent) {
      const Frame& frame = profile.frames[profile.nodes[node].frame];
      const Function& function = profile.functions[frame.function];
      stack = "/" + std::string(profile.text(function.name)) + "(" +
              std::string(profile.text(function.file)) + ":" + std::to_string(function.line) +
              ")@" + std::to_string(frame.line) + stack;
    }
    std::string line = std::to_string(samples.timestamp_ns[row]) + " ";
    line += profile.text(profile.threads[samples.thread[row]]);
    line += " " + std::string(stateName(samples.state[row])) + " " + stack;
    for (size_t column = 0; column < samples.values.size(); ++column) {
      line += " " + std::string(profile.text(profile.value_types[column].type)) + "=" +
              std::to_string(samples.values[column][row]) +
              std::string(profile.text(profile.value_types[column].unit));
    }
    for (const Label& label : profile.label_sets[samples.labels[row]]) {
      line += " [" + std::string(profile.text(label.key)) + "=" +
              std::string(profile.text(label.text)) + std::to_string(label.number) +
              std::string(profile.text(label.unit)) + "]";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

namespace wire {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string number(uint32_t field, uint64_t value) {
  return varint(uint64_t{field} << 3) + varint(value);
}

std::string bytes(uint32_t field, std::string_view value) {
  return varint((uint64_t{field} << 3) | 2) + varint(value.size()) + std::string(value);
}

}  // namespace wire
}  // namespace flamegate::control
