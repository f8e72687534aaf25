// What carries bytes between nodes: an engine that is there anyway, such as the program's own MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/reduction.h"

namespace sennit::net {

/// The ranks that have the same place in their nodes, one of each node. Every call is collective over them, works in
/// place on host memory, and returns when it is done there. Errors: those of the engine.
class Rail {
 public:
  virtual ~Rail() = default;

  /// Whole elements of the reduction's type.
  virtual Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) = 0;
  /// The result is at `root` alone; elsewhere the data is lost.
  virtual Status reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction, int root) = 0;
  virtual Status broadcast(std::byte* data, std::uint64_t bytes, int root) = 0;
};

}  // namespace sennit::net
