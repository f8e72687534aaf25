// Runs one rank of `sennit-tune collectives`: finds the fastest plan of each operation and size, verified before it
// is timed.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "coll/call_key.h"

namespace sennit::bench::collective {

struct TunerOptions {
  std::vector<std::string> operations, sizes;
  bool thorough = false;  ///< every power of two, and types and operators that kernels have no loop for
  bool again = false;     ///< also what was tuned before
  double budget_s = 120;  ///< for what is not tuned yet; what does not fit is left for the next time
  std::string nccl;       ///< its file or folder
  std::vector<std::string> versus;
  bool progress = false;
};

/// Lists the cases to tune on GPUs or without, the most used first; last those between windows, of operations that
/// can go straight there. Errors: invalid_argument, naming the option.
Result<std::vector<coll::CallKey>> cases_of(const TunerOptions& options, bool gpus);

/// Tunes with all other ranks; rank 0 keeps the table after each case, and prints {"warnings", "left"} at the end.
Result<Exit> run_tuner(const TunerOptions& options);

}  // namespace sennit::bench::collective
