// Predicts how long a route takes for a number of bytes: a line through measured copies, and the cost of a pipeline
// in chunks.
#pragma once

#include <cstdint>

#include "machine/machine.h"

namespace sennit::path {

/// t(n) = startup + n / rate.
struct Line {
  double startup_us = 0;
  double gbps = 0;  ///< 0: no line could be drawn
};

/// Fits the line that a curve tends to, by least squares on the relative error (so that 16 MiB and 1 GiB count alike)
/// over the copies that take thrice the shortest time, or all where there are fewer than two; points far off the
/// others are weighted down. Needs two points of different size; startup is at least 0.
Line fit(const machine::Curve& curve);

/// Returns the measured time for `bytes`: between two points on the straight line that joins them, below the first
/// point towards the startup of `line`, beyond the last with its slope.
double interpolate(const machine::Curve& curve, const Line& line, double bytes);

/// The constants say what a copy or a pipeline costs beside its bytes. Figures marked assumed hold where nothing was
/// measured; they were taken on one machine (4 × H200, CUDA 13) and are right there to a few µs.
inline constexpr double kDirectStartupUs = 12;  ///< assumed: one asynchronous copy and its completion
inline constexpr double kEngineStartupUs = 12;  ///< assumed: a chain of copies, before its first hop
inline constexpr double kEngineHopUs = 3;       ///< assumed: for each further hop of the chain
inline constexpr double kEngineChunkUs = 3.7;   ///< assumed: issuing a chunk's copy and event, for each further hop
inline constexpr double kKernelStartupUs = 20;  ///< assumed: two launches, meeting over flags in host memory
inline constexpr double kKernelRoundUs = 1.3;   ///< assumed: flag written, seen across the link and answered
inline constexpr int kKernelBlocks = 4;         ///< default: blocks a side where no measurement says otherwise
inline constexpr double kCompanyUs = 8;         ///< assumed: launching a route after the first one of a split
inline constexpr double kLocalStartupUs = 8;    ///< assumed: a copy within one device
inline constexpr double kLocalGpuGbps = 1000;   ///< assumed: a copy within one GPU's memory (any HBM does this)
inline constexpr double kLocalHostGbps = 10;    ///< assumed: one processor's memcpy
/// assumed: what a pipeline of two equally fast hops loses of their rate, because each waits for the other now and
/// then (50-52 of 55 GB/s through the host on 4 × H200); less, in proportion, where the other hop is faster.
inline constexpr double kPipelineLoss = 0.08;

/// limit: chunks are powers of two between these; smaller ones cost more to issue than to move, larger ones need
/// more staging memory than they save time.
inline constexpr std::uint64_t kSmallestChunk = 64ull << 10;
inline constexpr std::uint64_t kLargestChunk = 16ull << 20;
/// default: likewise a kernel's chunk. Never larger than what was measured: more bytes under way fill the PCIe link
/// and hold up the direct copy beside it (RingShape).
inline constexpr std::uint64_t kKernelChunk = 128ull << 10;

/// Says what the time of one route is made of.
struct Timing {
  double startup_us = 0;
  double gbps = 0;                        ///< of the route itself, with nothing else on its links
  const machine::Curve* curve = nullptr;  ///< direct routes: measured, and then startup_us is not used
  bool chunked = false;
  double fill_us_per_byte = 0;  ///< Σ 1 / rate over all hops but the narrowest: what the pipeline needs to fill
  double round_us = 0;          ///< for each round of chunks
  int blocks = 1;               ///< chunks in a round
  std::uint64_t most_chunk = kLargestChunk;
};

/// Everything but n / rate, and the chunk for which it was computed.
struct Overhead {
  double us = 0;
  std::uint64_t chunk_bytes = 0;  ///< 0 for routes without chunks
};

/// Returns the overhead of `bytes` in the best chunk size. With G = blocks × chunk, a pipeline costs
///   startup + fill · min(n, G) + round · ⌈n / G⌉,
/// smallest near G = √(round · n / fill): the closed form, rounded to the best power of two nearby.
Overhead overhead(const Timing& timing, double bytes);

/// overhead() + n / rate, at the rate that the links leave the route.
double finish_us(const Timing& timing, double bytes, double gbps);

/// Takes apart a measured line of a staged path, t = startup + n / rate with one chunk, so that overhead() gives the
/// same line at that chunk and the model's answer at others. `timing` has the rest (fill, round, blocks).
void take_apart(Timing& timing, const Line& measured, std::uint64_t chunk_bytes, double least_startup_us);

}  // namespace sennit::path
