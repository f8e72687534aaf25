// Runs one rank of the benchmark, from MPI_Init to MPI_Finalize; rank 0 prints what all found.
#pragma once

#include "bench/mpi/options.h"

namespace sennit::bench::mpi {

/// Once MPI has started, errors are the same on all ranks, and rank 0's to print: others end with the same code.
Result<Exit> run_rank(const Options& options);

}  // namespace sennit::bench::mpi
