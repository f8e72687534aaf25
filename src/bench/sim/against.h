// Compares the simulator with reality: replays the plans of a measured result on a machine.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"

namespace sennit::bench {

struct Against {
  std::string file;                ///< a result of puts or collectives
  std::string machine;             ///< that it was measured on
  std::vector<std::string> costs;  ///< "launch_us=2": of sim::kCosts, or, of puts, sim::kPutCosts
};

/// Prints a row for each of the result that has a plan. Errors: invalid_argument (no such file, not such a result).
Result<Exit> hold_against(const Against& asked);

}  // namespace sennit::bench
