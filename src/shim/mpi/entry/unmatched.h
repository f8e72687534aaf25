// Refuses calls that cannot end. After an agreement at MPI_Init that did not end (agreement.h), ranks have counted
// different numbers of collective calls on MPI_COMM_WORLD that do not block. Another one there would never end, so it
// fails, and says why.
#pragma once

#include <cstdio>
#include <optional>

#include "shim/mpi/entry/process.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
bool is_world(typename Abi::Comm comm) {
  return to_handle(comm) == mpi<Abi>().comm_world();
}

template <class Abi>
int refuse(const char* function) {
  std::fprintf(stderr,
               "sennit: %s on MPI_COMM_WORLD cannot end, as some ranks run without sennit: see what was said at "
               "MPI_Init\n",
               function);
  return mpi<Abi>().fail(mpi<Abi>().comm_world(), Abi::kErrOther);
}

/// Refuses the call where that has happened, and the communicator is MPI_COMM_WORLD; no value: go on.
template <class Abi>
std::optional<int> refused(const char* function, typename Abi::Comm comm) {
  if (!drop_in<Abi>().unmatched || !is_world<Abi>(comm)) return std::nullopt;
  return refuse<Abi>(function);
}

/// Fills in the hand-written ones, by entry: by_hand.inc.
template <class Abi>
void fill_counted(void** table);

}  // namespace sennit::shim::mpi::wrappers
