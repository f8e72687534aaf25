// What carries bytes between nodes in the order of a lane: an engine that works on memory of GPUs and does not block,
// such as a program's own NCCL. The other kind, over host memory, is in rail.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/lane.h"
#include "device/reduction.h"

namespace sennit::net {

/// The ranks that have the same place in their nodes, one of each node.
class LaneRail {
 public:
  virtual ~LaneRail() = default;

  /// What the rail does is in the order of this lane, which is of the rank's device, and the rail's own.
  virtual device::Lane& lane() = 0;

  /// Enqueues a sum over the rail, in place: whole elements of the reduction's type, in memory of the device. Every
  /// rank of the rail makes the same calls in the same order; all get the same bits. Errors: those of the engine.
  virtual Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) = 0;
};

}  // namespace sennit::net
