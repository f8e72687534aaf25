// Implements `sennit-sim put`: one message, or a window of them, over its split.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"

namespace sennit::bench {

struct SimulatedPut {
  std::string bytes, from, to, machine, split;
  int window = 1;
  bool both_ways = false;
  std::vector<std::string> what_if, costs;
};

/// Prints how long it takes, beside its best single route, and what holds it up. Errors: invalid_argument, not_found,
/// those of path::split().
Result<Exit> simulate_one_put(const SimulatedPut& asked);

}  // namespace sennit::bench
