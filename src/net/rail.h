// Carries bytes between nodes, by an engine that is there anyway, such as the program's own MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/reduction.h"

namespace sennit::net {

/// The ranks that have the same place in their nodes, one of each node. Every call is collective over them, works on
/// host memory, and returns when it is done there. `rows`: side by side in the order of nodes, `bytes` each. Errors:
/// those of the engine.
class Rail {
 public:
  virtual ~Rail() = default;

  /// Each rank has its own row, and gets those of all others.
  virtual Status all_gather(std::byte* rows, std::uint64_t bytes) = 0;
  /// Gathers the rows at `root` alone.
  virtual Status gather(std::byte* rows, std::uint64_t bytes, int root) = 0;
  /// Each rank gets its own row of those that `root` has.
  virtual Status scatter(std::byte* rows, std::uint64_t bytes, int root) = 0;
  /// Row k of `to` becomes this rank's row of node k's `from`; its own row of `to` stays as it is. The two do not
  /// overlap.
  virtual Status all_to_all(const std::byte* from, std::byte* to, std::uint64_t bytes) = 0;
  /// Sends to node `to`, and receives from node `from` as many bytes as that sends here; maybe no bytes. The two do
  /// not overlap.
  virtual Status swap(const std::byte* sent, std::uint64_t bytes_sent, int to, std::byte* received,
                      std::uint64_t bytes_received, int from) = 0;
  virtual Status broadcast(std::byte* data, std::uint64_t bytes, int root) = 0;

  /// Does the engine's own sums, for what is too short to be added by GPUs. In place; whole elements of the
  /// reduction's type.
  virtual Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) = 0;
  /// The result is at `root` alone; elsewhere the data is lost.
  virtual Status reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction, int root) = 0;
};

}  // namespace sennit::net
