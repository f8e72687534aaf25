// Runs the benchmark as its user starts it: it starts itself as the ranks, and prints what rank 0 found.
#pragma once

#include "bench/collective/options.h"
#include "device/executor.h"

namespace sennit::bench::collective {

/// `arguments` are this program's own, for the ranks.
Result<Exit> run_parent(const Options& options, const std::vector<std::string>& arguments);

/// Returns how many ranks to start: `wanted` or, where that is 0, one a GPU, four without GPUs. Errors: unsupported.
Result<int> ranks_for(const device::Executor& executor, int wanted);

}  // namespace sennit::bench::collective
