// Which plan a call takes when nothing was tuned: a cost model with figures that were measured on one machine.
#pragma once

#include "coll/allreduce.h"

namespace sennit::coll {

/// The candidate that the model expects to be fastest. Pure: all ranks get the same from the same arguments.
AllreducePlan choose_allreduce(const Team& team, std::uint64_t bytes, device::Kind kind);

}  // namespace sennit::coll
