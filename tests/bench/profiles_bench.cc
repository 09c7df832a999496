// Costs of profiles: bytes/s of uncompressed pprof, time of the viewer's documents.
//
// Aims on one core: decoding 150 MB/s of uncompressed bytes; the pruned tree of a profile of
// 100,000 nodes in 50 ms.
#include <array>

#include <benchmark/benchmark.h>

#include "control/profiles/builder.h"
#include "control/profiles/compression.h"
#include "control/profiles/export.h"
#include "control/profiles/pprof.h"
#include "control/profiles/timeline.h"
#include "control/profiles/tree.h"

namespace flamegate::control {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kMillisecond = 1'000'000;

// A deterministic stream of numbers.
class Random {
 public:
  uint32_t below(uint32_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_ = 42;
};

// What an agent sends for a request: one sample a millisecond with all labels, on one of so many
// stacks of 15 to 30 frames.
Profile requestOf(size_t samples, size_t stacks) {
  Random random;
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  builder.valueColumn("wall", "nanoseconds");
  builder.valueColumn("cpu", "nanoseconds");
  builder.setSpan(kStart, static_cast<int64_t>(samples) * kMillisecond);
  std::vector<FrameId> frames;
  for (int i = 0; i < 571; ++i) {
    const std::string number = std::to_string(i % 290);
    frames.push_back(builder.frame(builder.function("package.module.Class.method_" + number,
                                                    "package/module_" + number + ".py", i % 290),
                                   i + 3));
  }
  std::vector<NodeId> nodes;
  std::vector<FrameId> stack;
  while (nodes.size() < stacks) {
    stack.resize(std::min<size_t>(stack.size(), 8 + random.below(20)));
    while (stack.size() < 15 + random.below(16)) stack.push_back(frames[random.below(571)]);
    nodes.push_back(builder.stack(stack));
  }
  const std::array labels = {
      Label{builder.string("endpoint"), builder.string("GET /homepage"), 0, 0},
      Label{builder.string("profile_id"), builder.string("01hzy8"), 0, 0}};
  const LabelSetId label_set = builder.labelSet(labels);
  const ThreadId thread = builder.thread(builder.string("main"));
  for (size_t i = 0; i < samples; ++i) {
    const NodeId node = nodes[stacks < samples ? random.below(static_cast<uint32_t>(stacks)) : i];
    const auto time = kStart + static_cast<int64_t>(i) * kMillisecond;
    builder.addSample({node, thread, State::Running, label_set, time},
                      std::array<int64_t, 3>{1, kMillisecond, kMillisecond - random.below(1000)});
  }
  return std::move(*builder.take());
}

// The benchmark's arguments: samples and stacks.
Profile requestOf(const benchmark::State& state) {
  return requestOf(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)));
}

// Distinct call paths until the tree has that many nodes.
Profile treeOf(size_t nodes) {
  Random random;
  ProfileBuilder builder;
  builder.valueColumn("samples", "count");
  std::vector<NodeId> known = {kRootNode};
  for (uint32_t i = 0; known.size() < nodes; ++i) {
    const std::string name = "function_" + std::to_string(random.below(5000));
    const NodeId parent = known[random.below(static_cast<uint32_t>(known.size()))];
    const NodeId node =
        builder.child(parent, builder.frame(builder.function(name, "file.py", 1), 1));
    if (node < known.size()) continue;
    known.push_back(node);
    builder.addSample({.node = node, .timestamp_ns = kStart + i},
                      std::array<int64_t, 1>{1 + random.below(9)});
  }
  return std::move(*builder.take());
}

void bytesOf(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

// A second of a web request, as many samples as are accepted, and those without any repetition.
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1'000, 370})->Args({200'000, 20'000})->Args({200'000, 200'000});
}

void decodePlainPprof(benchmark::State& state) {
  const std::string plain = encodePprofPlain(requestOf(state));
  for (auto _ : state) benchmark::DoNotOptimize(decodePprof(plain));
  bytesOf(state, plain.size());
}
BENCHMARK(decodePlainPprof)->Apply(sizes)->Unit(benchmark::kMillisecond);

void decodeGzippedPprof(benchmark::State& state) {
  const std::string plain = encodePprofPlain(requestOf(state));
  const std::string gzip = deflateGzip(plain);
  for (auto _ : state) benchmark::DoNotOptimize(decodePprof(gzip));
  bytesOf(state, plain.size());
}
BENCHMARK(decodeGzippedPprof)->Apply(sizes)->Unit(benchmark::kMillisecond);

void encodeGzippedPprof(benchmark::State& state) {
  const Profile profile = requestOf(state);
  for (auto _ : state) benchmark::DoNotOptimize(encodePprof(profile));
  bytesOf(state, encodePprofPlain(profile).size());
}
BENCHMARK(encodeGzippedPprof)->Apply(sizes)->Unit(benchmark::kMillisecond);

void prunedTree(benchmark::State& state) {
  const Profile profile = treeOf(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(treeJson(profile, {}));
}
BENCHMARK(prunedTree)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void wholeTimeline(benchmark::State& state) {
  const Profile profile = treeOf(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(timelineJson(profile));
}
BENCHMARK(wholeTimeline)->Arg(100'000)->Unit(benchmark::kMillisecond);

void exportOne(benchmark::State& state, std::string_view name) {
  const Profile profile = requestOf(10'000, 4'000);
  for (auto _ : state) benchmark::DoNotOptimize(findExportFormat(name)->write(profile, {}));
}
BENCHMARK_CAPTURE(exportOne, speedscope, "speedscope")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exportOne, collapsed, "collapsed")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exportOne, callgrind, "callgrind")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exportOne, svg, "svg")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flamegate::control
