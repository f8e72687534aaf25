// Begins the drop-in in a process.
#pragma once

#include "shim/front/front.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::mpi {

/// Puts the wrappers for an MPI of this ABI in front of the program's. 0, or 1 where the program runs without sennit,
/// which is said.
template <class Abi>
int attach(const sennit_front& front);

/// Returns the memory that the program has, as the drop-in knows it; null before it is attached.
stage::PointerCache*& memories_of_program();

}  // namespace sennit::shim::mpi
