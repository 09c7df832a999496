// What a profile may weigh. Every decoder and every exporter keeps to these bounds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flamegate::control {

// Bytes after decompression; beyond: refused. The ratio is looked at above kRatioFreeBytes only,
// because short texts compress well without ill intent.
inline constexpr size_t kInflatedBytesMax = size_t{32} << 20;
inline constexpr size_t kRatioFreeBytes = size_t{1} << 20;
inline constexpr size_t kRatioMax = 100;

// Beyond these the profile is refused as too large.
inline constexpr size_t kSamplesMax = 200'000;
inline constexpr size_t kNodesMax = 4'000'000;         // call-tree nodes
inline constexpr size_t kTableEntriesMax = 1'000'000;  // strings, functions, locations: each
inline constexpr size_t kStackEntriesMax = 262'144;    // locations of one sample, as sent
inline constexpr size_t kValueTypesMax = 16;
inline constexpr size_t kLabelsPerSampleMax = 64;
inline constexpr size_t kCommentsMax = 1'000;

// Beyond these the profile is cut, with a mark and a count.
inline constexpr size_t kDepthMax = 512;       // frames of one stack, the mark included
inline constexpr size_t kDepthRootSide = 255;  // kept next to the root of a deeper stack
inline constexpr size_t kDepthLeafSide = kDepthMax - 1 - kDepthRootSide;
inline constexpr size_t kStringBytesMax = 1024;  // UTF-8 bytes, the mark included

// An export that would grow beyond this is refused as too large; pprof never comes near it.
inline constexpr size_t kExportBytesMax = size_t{256} << 20;

// Nodes of the pruned tree that the viewer gets.
inline constexpr size_t kTreeNodesDefault = 20'000;
inline constexpr size_t kTreeNodesMax = 200'000;

}  // namespace flamegate::control
