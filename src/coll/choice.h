// Which plan a call takes when nothing was tuned: a cost model with figures that were measured on one machine.
#pragma once

#include "coll/algorithms.h"

namespace sennit::coll {

/// The candidate that the model expects to be fastest for Call::bytes. Pure: all ranks get the same from the same
/// arguments.
Plan choose(Operation operation, const Team& team, std::uint64_t bytes, device::Kind kind);

}  // namespace sennit::coll
