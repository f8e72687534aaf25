// Names calls and communicators, for reports and errors.
#pragma once

#include <string>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

/// Returns what the report calls a function: "allreduce", "iallreduce", "allreduce_init".
std::string name_of(Function function);
inline std::string name_of(const Call& call) {
  return name_of(call.function());
}
/// Returns what errors call a call's function: "MPI_Allreduce".
std::string function_of(const Call& call);
/// Returns what errors call a communicator: "MPI_COMM_WORLD", "the communicator 'rows' of 4 ranks".
std::string describe(const Mpi& mpi, Handle comm);

}  // namespace sennit::shim::mpi
