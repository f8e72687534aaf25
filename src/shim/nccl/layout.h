// Which ranks of a communicator share a node.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"

namespace sennit::shim::nccl {

/// A rank's place, where all nodes have as many ranks. Nodes are in the order of their lowest ranks, and ranks of a
/// node ascend.
struct Layout {
  int nodes = 1, ranks = 1;  ///< ranks of a node
  int node = 0, place = 0;   ///< of this rank
};

/// `seen[r]`: the ranks on rank r's node as it sees them, ascending, itself included. Pure: every rank gets a result,
/// or every rank gets none. Errors: unsupported where they see each other differently, or nodes differ in size.
Result<Layout> layout_of(std::span<const std::vector<int>> seen, int rank);

}  // namespace sennit::shim::nccl
