// The simulator held against reality: the plans of a measured result, replayed on a machine.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "sim/costs.h"

namespace sennit::bench {

struct Against {
  std::string file;     ///< a result of sennit-bench-collective
  std::string machine;  ///< that it was measured on
  std::vector<std::string> given_costs;
  sim::Costs costs;
};

/// Prints a row for each of the result that has a plan. Errors: invalid_argument (no such file, not such a result).
Result<Exit> hold_against(const Against& asked);

}  // namespace sennit::bench
