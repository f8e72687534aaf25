// Implements `sennit-sim messages`: a collective of whole messages, on one node or on thousands.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "machine/machine.h"

namespace sennit::bench {

/// A limit.
inline constexpr int kMostChunks = 4096;

struct Messages {
  std::string operation, bytes, machine, algorithm;
  std::string sources = "1";  ///< of a broadcast: so many roots at the same time, or "all"
  int nodes = 1, root = 0, k = 4;
  int chunks = 0;          ///< 0: one, and of broadcasts what each algorithm's closed form finds best
  bool equations = false;  ///< of broadcasts: say what closed forms say, and simulate nothing
  double epsilon_us = 0;
  std::vector<std::string> what_if, costs;
};

/// Prints the algorithms, the fastest first, and what holds that one up. Errors: invalid_argument, not_found.
Result<Exit> simulate_messages(const Messages& asked);

}  // namespace sennit::bench
