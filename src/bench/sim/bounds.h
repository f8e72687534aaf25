// Prints the least time that links allow collectives, many in one run.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

struct Bounds {
  std::string operation, size;  ///< of one row; a size such as 64M
  int ranks = 0;                ///< of that row, on the first so many GPUs; 0: all there are
  std::string rows;             ///< instead: a file with a row a line, "allreduce 64M 4"; "-": standard input
  std::string machine;          ///< a shipped machine's name, or a file; empty: this machine
};

/// Prints a row for each that was asked for. One that has no bound has a null, and why. Errors: invalid_argument (a
/// line that is no row, no such machine).
Result<Exit> print_bounds(const Bounds& asked);

}  // namespace sennit::bench
