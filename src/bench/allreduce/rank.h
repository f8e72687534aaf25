// One rank of the benchmark.
#pragma once

#include "bench/allreduce/options.h"

namespace sennit::bench::allreduce {

/// Lines of rank 0's stdout that the parent reads begin so.
inline constexpr std::string_view kOutcomePrefix = "sennit-outcome ";

/// Measures every size with every variant; rank 0 prints {"rows", "warnings", "versions", "machine"}.
Result<Exit> run_rank(const Options& options);

}  // namespace sennit::bench::allreduce
