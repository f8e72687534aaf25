// Runs a rank of the benchmark: it meets the others, verifies, times, and on rank 0 prints what it found.
#pragma once

#include "bench/program.h"
#include "bench/put/job.h"

namespace sennit::bench::put {

Result<Exit> run_rank(const Job& job);

}  // namespace sennit::bench::put
