// Tells at the end of a job whether each rank has used the GPU that a map gives it.
#pragma once

#include "shim/mpi/abi/mpi.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::mpi {

/// Collective over MPI_COMM_WORLD, all of whose ranks have SENNIT_MAP: rank 0 says it on stderr. A rank's GPU is that
/// of the first GPU memory that it gave MPI; its local rank is that among the ranks of its host.
void look_at_map(const Mpi& mpi, stage::PointerCache& memories);

}  // namespace sennit::shim::mpi
