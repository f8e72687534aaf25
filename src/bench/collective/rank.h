// Runs one rank of the benchmark.
#pragma once

#include "bench/collective/options.h"

namespace sennit::bench::collective {

/// Measures every size with every variant; rank 0 prints {"rows", "warnings", "versions", "machine"}.
Result<Exit> run_rank(const Options& options);

}  // namespace sennit::bench::collective
