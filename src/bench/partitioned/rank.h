// Runs one of the two ranks of the benchmark, from MPI_Init_thread to MPI_Finalize; rank 0 prints what both found.
#pragma once

#include "bench/partitioned/options.h"

namespace sennit::bench::partitioned {

/// A message that hangs ends the job: rank 0 then prints what was measured before, and a row that says so.
Result<Exit> run_rank(const Options& options);

}  // namespace sennit::bench::partitioned
