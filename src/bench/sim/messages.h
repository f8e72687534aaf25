// Implements `sennit-sim messages`: a collective of whole messages, on one node or on thousands.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "machine/machine.h"

namespace sennit::bench {

struct Messages {
  std::string operation, bytes, machine, algorithm;
  int nodes = 1, root = 0, chunks = 1;
  double epsilon_us = 0;
  std::vector<std::string> what_if, costs;
};

/// Prints the algorithms, the fastest first, and what holds that one up. Errors: invalid_argument, not_found.
Result<Exit> simulate_messages(const Messages& asked);

}  // namespace sennit::bench
