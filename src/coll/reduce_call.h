// Holds what every program that reduces needs to know.
#pragma once

#include "coll/slice_chunks.h"
#include "coll/team.h"
#include "device/reduction.h"

namespace sennit::coll {

/// Stands for a root: every rank gets the result.
inline constexpr int kEveryRank = -1;

struct ReduceCall {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< may be where the input is; otherwise they do not overlap
  std::uint64_t bytes = 0;  ///< of the result of a rank; a reduce-scatter has an input for each rank, side by side
  device::Reduction reduction;
  int root = kEveryRank;
  Partition partition;  ///< of `bytes`, as the program wants it

  /// Returns what this rank gives for another in a reduce-scatter.
  SENNIT_DEVICE const std::byte* input_for(int rank) const { return input + static_cast<unsigned>(rank) * bytes; }
  SENNIT_DEVICE bool wants(int rank) const { return root == kEveryRank || rank == root; }
};

/// Marks every source as a rank's own input.
SENNIT_DEVICE device::Stage whole(int ranks) {
  return {(1u << ranks) - 1, true};
}

}  // namespace sennit::coll
