// Says where the data of a call's elements lies in memory.
#pragma once

#include <optional>
#include <vector>

#include "shim/mpi/call/call.h"
#include "stage/segments.h"

namespace sennit::shim::mpi {

/// Returns all data of the elements; no value for a type or a count that MPI does not take, and elements of more than
/// 1 GiB, which only MPI itself can take apart. May throw std::bad_alloc: MPI itself marks the bytes of an element in
/// an image of it, whatever its type is made of.
std::optional<std::vector<stage::Segments>> segments_of(const Mpi& mpi, const Elements& elements);

}  // namespace sennit::shim::mpi
