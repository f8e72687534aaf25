// The benchmark as its user starts it: it starts itself as the ranks, and prints what rank 0 found.
#pragma once

#include "bench/allreduce/options.h"

namespace sennit::bench::allreduce {

/// `arguments` are this program's own, for the ranks.
Result<Exit> run_parent(const Options& options, const std::vector<std::string>& arguments);

}  // namespace sennit::bench::allreduce
