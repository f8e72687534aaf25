// Says how long the message of a call is, by which the report sorts it: from the call alone, so that it is the same
// whether sennit does the call or the MPI does. Data counts, what lies between does not.
//
// - Reductions and scans: what is reduced; for MPI_Reduce_scatter_block, and MPI_Reduce_scatter where all ranks get
//   as much, what one rank gets.
// - Other collectives: what one rank has for another, or for all. With their forms of different lengths, what this
//   rank sends to all or receives from all, whichever is more.
// - All else: the program's buffer, of several the longest.
#pragma once

#include <cstdint>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

/// Returns the length in bytes. To be asked while the program still has the call's types and arrays.
std::uint64_t message_size(const Call& call);

}  // namespace sennit::shim::mpi
