// Times copies over direct paths from call to completion: one alone, both ways, many at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/measure/rig.h"
#include "bench/measure/timing.h"

namespace sennit::bench::measure {

/// Blocks of one copy driven by SMs. Defaults: half of an H200's, which is enough to fill its links; and threads.
inline constexpr unsigned kPeerCopyBlocks = 64, kPeerCopyThreads = 4;

/// One copy of a group that starts together.
struct Transfer {
  device::Lane* lane = nullptr;  ///< several transfers may share one: they then run in this order
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::uint64_t bytes = 0;
  machine::Method method = machine::Method::engine;
  unsigned blocks = 0;  ///< method sm
};

/// Enqueues all, then waits for all: the time of the whole group. The ends were verified before: nothing here bounds
/// the wait.
Status run_together(std::span<const Transfer> transfers);
Result<Summary> time_together(Repeat how, std::span<const Transfer> transfers);

/// Returns the copy from one memory to another, on the lane of the device that drives it.
Result<Transfer> transfer(Rig& rig, const Stop& from, const Stop& to, std::uint64_t bytes,
                          machine::Method method = machine::Method::engine);

/// Returns the point of a curve that a summary makes.
machine::Curve::Point point(std::uint64_t bytes, const Summary& summary);

/// Sizes and bounds of a sweep.
struct Sweep {
  std::vector<std::uint64_t> sizes;  ///< ascending; those beyond Rig::room() are left out
  Repeat repeat;
  double longest_us = 50'000;  ///< a size is the last one when its copy takes longer: keeps slow links affordable
};

/// Times one message at a time from one memory to another.
Result<machine::Curve> one_way(Rig& rig, const Stop& from, const Stop& to, machine::Method method,
                               const Sweep& sweep);
/// Times a copy with as many bytes back at the same time, until both are done. The time stands for both directions:
/// the second curve is the first one with its ends exchanged.
Result<std::vector<machine::Curve>> both_ways(Rig& rig, const Stop& one, const Stop& other, const Sweep& sweep);

}  // namespace sennit::bench::measure
