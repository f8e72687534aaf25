// Lets sennit's ranks meet in a program that has MPI: over the program's own communicator.
#pragma once

#include <memory>

#include "comm/exchange.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

/// Makes an exchange over `comm`, by blocking collectives of MPI: each rank must be in the same call of the program
/// while it is used. `mpi` outlives it.
std::unique_ptr<comm::Exchange> exchange_over(const Mpi& mpi, Handle comm, CommShape shape);

}  // namespace sennit::shim::mpi
