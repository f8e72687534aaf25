// Computes how long a graph of movements takes on a fabric, and what holds it up.
//
// 1. A task is ready when all that it needs is done; then it enters its queue, where it has one.
// 2. Its own time passes, then its bytes are a flow over the fabric's links (fluid.h).
// 3. What it held up goes on: the next of its queue, and those that needed it.
#pragma once

#include <vector>

#include "base/status.h"
#include "sim/fabric.h"
#include "sim/graph.h"
#include "sim/outcome.h"

namespace sennit::sim {

struct Played : Outcome {
  std::vector<double> ends;  ///< µs at which each task was done
};

/// Errors: unsupported (no links join two places: names them; links that carry nothing).
Result<Played> play(const Graph& graph, const Fabric& fabric, double epsilon_us = 0);

}  // namespace sennit::sim
