// Builds the machine's links into a flow network: what all of them together can carry between memories, whatever the
// routes.
#pragma once

#include <vector>

#include "path/flow.h"
#include "path/network.h"

namespace sennit::path {

struct FlowGraph {
  int nodes = 0;
  std::vector<Edge> edges;  ///< GB/s

  /// Nodes of a device's memory: where bytes come in, and where they go out.
  static int arrive(int device);
  static int leave(int device);
};

/// Builds the graph; with `both_ways`, for when as much goes the other way over every link.
FlowGraph flow_graph(const Network& network, bool both_ways);

}  // namespace sennit::path
