// Runs the process that the user starts: it finds the machine, starts ranks for each pair, runs UCX's program beside
// them, and prints the result.
#pragma once

#include "bench/program.h"
#include "bench/put/options.h"

namespace sennit::bench::put {

Result<Exit> run_parent(const Options& options);

}  // namespace sennit::bench::put
