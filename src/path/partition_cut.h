// Computes which partitions of one side of a partitioned message have the bytes of which of the other side's: the two
// may cut the same bytes differently (MPI-5.0, 4.2.3). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace sennit::path {

/// Says how one side cuts a message: into so many partitions, side by side.
struct PartitionCut {
  std::uint32_t partitions = 0;
  std::uint64_t bytes_each = 0;  ///< of a partition

  std::uint64_t bytes() const { return partitions * bytes_each; }
};

/// Partitions [begin, end) of one side.
struct PartitionRange {
  std::uint32_t begin = 0, end = 0;

  std::uint32_t count() const { return end - begin; }
  friend bool operator==(const PartitionRange&, const PartitionRange&) = default;
};

/// "18 × 4 KiB"
std::string text(const PartitionCut& cut);

/// ok where there is a partition, and all bytes can be counted by 64 bits. Errors: invalid_argument.
Status check(const PartitionCut& cut);

/// Returns the fewest partitions of `by` that have all bytes of the partitions `range` of `of`, which is not empty
/// and within it. Both cut equally many bytes; where these are none, all of `by`.
PartitionRange covering(PartitionRange range, const PartitionCut& of, const PartitionCut& by);

/// Returns the partitions of a list as ranges, in its order: neighbours that follow each other there are one.
std::vector<PartitionRange> runs_of(std::span<const std::uint32_t> partitions);

}  // namespace sennit::path
