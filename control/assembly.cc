#include "control/assembly.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "control/profiles/merge.h"
#include "control/profiles/pprof.h"
#include "control/profiles/summary.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Result;

// The comment by which a stored file remembers a part.
std::string partPrefix(const Part& part) { return "flamegate part " + part.name + " "; }
std::string partMark(const Part& part) {
  return partPrefix(part) + proxy::toHex(proxy::asView(part.hash));
}

Result<> checkNotIncluded(const Profile& stored, const Part& part) {
  const std::string prefix = partPrefix(part);
  for (const StringId id : stored.comments) {
    const std::string_view comment = stored.text(id);
    if (!comment.starts_with(prefix)) continue;
    const bool same = comment == partMark(part);
    return proxy::fail(same ? ErrorCode::Conflict : ErrorCode::Refused, ErrorSource::Agent,
                       "the stored profile has a part of this name");
  }
  return {};
}

void describeConditions(const Part& part, std::vector<std::string>& comments) {
  const agent::UploadMeta& meta = part.meta;
  const std::string who =
      fmt::format("{} {} pid {} on {}", meta.agent, meta.runtime, meta.pid.value_or(0), meta.host);
  if (!meta.agent.empty()) comments.push_back("agent " + who);
  if (meta.period_us) {
    comments.push_back(fmt::format("period asked {} us, measured {} us", *meta.period_us,
                                   meta.measured_period_us.value_or(*meta.period_us)));
  }
  if (meta.ticks) {
    comments.push_back(fmt::format("ticks expected {}, taken {}, missed {}", meta.ticks->expected,
                                   meta.ticks->taken, meta.ticks->missed));
  }
  if (!meta.attribution.empty()) comments.push_back("attribution " + meta.attribution);
  if (meta.truncated) comments.push_back("recording cut short");
  const std::string loss = describeLoss(part.profile->loss);
  if (!loss.empty()) comments.push_back("lost " + loss);
  comments.push_back(partMark(part));
}

template <typename Column>
void keepRows(Column& column, const std::vector<size_t>& rows) {
  Column kept;
  kept.reserve(rows.size());
  for (const size_t row : rows) kept.push_back(column[row]);
  column = std::move(kept);
}

// The profile without the samples that were taken inside the garbage collector.
Profile withoutGc(Profile profile) {
  Samples& samples = profile.samples;
  std::vector<size_t> rows;
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples.state[row] != State::Gc) rows.push_back(row);
  }
  keepRows(samples.node, rows);
  keepRows(samples.thread, rows);
  keepRows(samples.state, rows);
  keepRows(samples.labels, rows);
  keepRows(samples.timestamp_ns, rows);
  for (std::vector<int64_t>& values : samples.values) keepRows(values, rows);
  return profile;
}

// Threads of several processes may share names.
std::string threadPrefix(const Part& part) {
  return "pid " + part.name.substr(0, part.name.find('-')) + " / ";
}

Micros toMicros(int64_t ns) { return Micros(ns / 1000); }

Assembled summarize(const Profile& profile, const ProfileRecord& record) {
  Assembled out;
  out.body = encodePprof(profile);
  out.samples = static_cast<uint64_t>(std::max<int64_t>(sampleCount(profile), 0));
  const int64_t cpu_ns = sumOf(profile, findColumn(profile, "cpu"));
  if (cpu_ns > 0 || record.mode != ProfileMode::Wall) out.cpu = toMicros(cpu_ns);
  const auto [running, waiting, gil, gc] = stateTotals(profile);
  out.states = {toMicros(running), toMicros(waiting), toMicros(gil), toMicros(gc)};
  return out;
}

}  // namespace

Result<Assembled> assembleParts(const PartAssembler::Input& input) {
  const Part& part = *input.part;
  MergeOptions options;
  options.labels = {{"endpoint", input.record.route}, {"profile_id", input.record.id}};
  describeConditions(part, options.comments);
  std::optional<Profile> filtered;
  if (input.ignore_gc) filtered = withoutGc(*part.profile);
  std::vector<MergePart> parts{{filtered ? &*filtered : part.profile.get(), {}}};
  Result<Profile> stored = Profile();
  if (input.stored_body) {
    stored = decodePprof(*input.stored_body);
    if (!stored) return proxy::fail(std::move(stored.error()));
    if (Result<> check = checkNotIncluded(*stored, part); !check) {
      return proxy::fail(std::move(check.error()));
    }
    parts.front().thread_prefix = threadPrefix(part);
    parts.insert(parts.begin(), MergePart{&*stored, {}});
  }
  Result<Profile> merged = mergeProfiles(parts, options);
  if (!merged) return proxy::fail(std::move(merged.error()));
  return summarize(*merged, input.record);
}

void PoolAssembler::assemble(Input input, AssembleDone done) {
  auto shared_input = std::make_shared<Input>(std::move(input));
  auto shared_done = std::make_shared<AssembleDone>(std::move(done));
  const bool accepted = pool_.submit([this, shared_input, shared_done] {
    auto result = std::make_shared<Result<Assembled>>(assembleParts(*shared_input));
    executor_.post([shared_done, result] { (*shared_done)(std::move(*result)); });
  });
  if (accepted) return;
  executor_.post([shared_done] {
    (*shared_done)(proxy::fail(ErrorCode::Full, ErrorSource::Internal, "the queue is full"));
  });
}

}  // namespace flamegate::control
