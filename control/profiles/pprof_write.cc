#include <array>

#include "control/profiles/compression.h"
#include "control/profiles/pprof.h"
#include "control/profiles/wire.h"

namespace flamegate::control {
namespace {

// Indices into the file's string table of the texts that the model has no strings for.
struct ExtraStrings {
  explicit ExtraStrings(const Profile& profile) : first(profile.strings.size()) {}

  static constexpr std::array<std::string_view, 8> kTexts = {
      "timestamp_ns", "nanoseconds", "thread", "state", "running", "waiting", "gil", "gc"};
  uint64_t first;

  uint64_t timestamp() const { return first; }
  uint64_t nanoseconds() const { return first + 1; }
  uint64_t thread() const { return first + 2; }
  uint64_t state() const { return first + 3; }
  uint64_t stateValue(State state) const { return first + 4 + static_cast<uint64_t>(state); }
};

class PprofWriter {
 public:
  explicit PprofWriter(const Profile& profile) : profile_(profile), extra_(profile) {}

  std::string write() {
    writeValueTypes();
    for (size_t row = 0; row < profile_.samples.size(); ++row) writeSample(row);
    writeLocations();
    writeFunctions();
    writeStrings();
    writeScalars();
    return std::move(out_);
  }

 private:
  void writeValueType(uint32_t field, const ValueType& type);
  void writeValueTypes();
  void writeSample(size_t row);
  void writeLabels(size_t row);
  void writeLocations();
  void writeFunctions();
  void writeStrings();
  void writeScalars();

  const Profile& profile_;
  ExtraStrings extra_;
  std::string out_;
  WireWriter file_{&out_};

  // The message in work and the one inside it.
  std::string message_, inner_;
  std::vector<uint32_t> location_ids_;
  std::vector<int64_t> values_;
};

void PprofWriter::writeValueType(uint32_t field, const ValueType& type) {
  message_.clear();
  WireWriter message(&message_);
  message.number(1, uint64_t{type.type});
  message.number(2, uint64_t{type.unit});
  file_.bytes(field, message_);
}

void PprofWriter::writeValueTypes() {
  for (const ValueType& type : profile_.value_types) writeValueType(1, type);
}

void PprofWriter::writeSample(size_t row) {
  const Samples& samples = profile_.samples;
  location_ids_.clear();
  for (NodeId node = samples.node[row]; node != kRootNode; node = profile_.nodes[node].parent) {
    location_ids_.push_back(profile_.nodes[node].frame + 1);
  }
  values_.clear();
  for (const auto& column : samples.values) values_.push_back(column[row]);
  message_.clear();
  WireWriter message(&message_);
  message.packed(1, std::span<const uint32_t>(location_ids_));
  message.packed(2, std::span<const int64_t>(values_));
  writeLabels(row);
  file_.bytes(2, message_);
}

void PprofWriter::writeLabels(size_t row) {
  const Samples& samples = profile_.samples;
  WireWriter message(&message_);
  const auto finish = [&] { message.bytes(3, inner_); };
  const auto begin = [&](uint64_t key) {
    inner_.clear();
    WireWriter label(&inner_);
    label.number(1, key);
    return label;
  };
  if (samples.timestamp_ns[row] > 0) {
    WireWriter label = begin(extra_.timestamp());
    label.number(3, samples.timestamp_ns[row]);
    label.number(4, extra_.nanoseconds());
    finish();
  }
  if (const StringId thread = profile_.threads[samples.thread[row]]; thread != 0) {
    begin(extra_.thread()).number(2, uint64_t{thread});
    finish();
  }
  if (samples.state[row] != State::Unknown) {
    begin(extra_.state()).number(2, extra_.stateValue(samples.state[row]));
    finish();
  }
  for (const Label& label : profile_.label_sets[samples.labels[row]]) {
    WireWriter out = begin(label.key);
    out.number(2, uint64_t{label.text});
    if (label.text == 0) out.number(3, label.number);
    if (label.text == 0) out.number(4, uint64_t{label.unit});
    finish();
  }
}

void PprofWriter::writeLocations() {
  for (size_t id = 0; id < profile_.frames.size(); ++id) {
    const Frame& frame = profile_.frames[id];
    inner_.clear();
    WireWriter line(&inner_);
    line.number(1, uint64_t{frame.function} + 1);
    line.number(2, int64_t{frame.line});
    line.number(3, int64_t{frame.column});
    message_.clear();
    WireWriter message(&message_);
    message.number(1, uint64_t{id} + 1);
    message.bytes(4, inner_);
    file_.bytes(4, message_);
  }
}

void PprofWriter::writeFunctions() {
  for (size_t id = 0; id < profile_.functions.size(); ++id) {
    const Function& function = profile_.functions[id];
    message_.clear();
    WireWriter message(&message_);
    message.number(1, uint64_t{id} + 1);
    message.number(2, uint64_t{function.name});
    message.number(3, uint64_t{function.name});
    message.number(4, uint64_t{function.file});
    message.number(5, int64_t{function.line});
    file_.bytes(5, message_);
  }
}

void PprofWriter::writeStrings() {
  for (StringId id = 0; id < profile_.strings.size(); ++id) file_.bytes(6, profile_.text(id));
  for (const std::string_view text : ExtraStrings::kTexts) file_.bytes(6, text);
}

void PprofWriter::writeScalars() {
  file_.number(9, profile_.start_unix_ns);
  file_.number(10, profile_.duration_ns);
  if (profile_.period_type != ValueType{}) writeValueType(11, profile_.period_type);
  file_.number(12, profile_.period);
  file_.packed(13, std::span<const StringId>(profile_.comments));
  file_.number(14, uint64_t{profile_.default_type});
}

}  // namespace

std::string encodePprofPlain(const Profile& profile) { return PprofWriter(profile).write(); }

std::string encodePprof(const Profile& profile) { return deflateGzip(encodePprofPlain(profile)); }

}  // namespace flamegate::control
