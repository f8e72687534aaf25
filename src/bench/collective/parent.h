// The benchmark as its user starts it: it starts itself as the ranks, and prints what rank 0 found.
#pragma once

#include "bench/collective/options.h"

namespace sennit::bench::collective {

/// `arguments` are this program's own, for the ranks.
Result<Exit> run_parent(const Options& options, const std::vector<std::string>& arguments);

}  // namespace sennit::bench::collective
