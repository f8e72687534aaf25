// Finds out whether all ranks of a job have this drop-in: once, at the end of MPI_Init, before anything is built on
// it. A launcher may have brought LD_PRELOAD to some ranks only, or another build of sennit; such ranks go on without
// it.
//
// 1. Each rank begins to give all others an introduction: what it is, its build, whether it can have GPU memory. A
// rank that
//    lacks the drop-in does not take part, and no rank can tell who it is: so this is a collective call that does not
//    block, and that is waited for as long as SENNIT_TIMEOUT says. Where it does not end, it stays begun for ever.
// 2. All ranks that have all introductions judge alike.
// 3. They tell each other so in the same way: a rank that came after others had ceased to wait is not left alone.
//
// MPI counts such calls on each rank. Where 1 does not end, one that the program itself begins on MPI_COMM_WORLD
// later can therefore not be matched by the ranks without the drop-in; blocking calls and messages can.
#pragma once

#include <string_view>

#include "comm/deadline.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

/// Holds what this rank's environment asks for that all ranks have to do together.
struct Requested {
  bool reorder = false;  ///< processes are reordered
  bool map = false;      ///< there is a map of ranks to GPUs to look at
};

/// Collective over MPI_COMM_WORLD, of shape `world`. Whether any rank can have GPU memory; `possible`: this one.
/// `requested`: this rank's, and afterwards those that all ranks have. Errors:
/// mismatch names two ranks with different builds; timed_out and peer_lost say that not all ranks have taken part;
/// system_error.
Result<bool> agree(const Mpi& mpi, const CommShape& world, std::string_view build, bool possible,
                   comm::Clock::duration limit, Requested* requested = nullptr);

}  // namespace sennit::shim::mpi
