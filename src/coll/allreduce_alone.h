// Allreduce of one rank: its input is the result, but for what the operator does to each input.
#pragma once

#include "coll/allreduce_call.h"
#include "device/lane.h"

namespace sennit::coll {

/// Each block scales its part.
struct AllreduceAlone {
  static constexpr const char* kName = "allreduce_alone";
  AllreduceCall call;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const auto part = device::part_of(call.bytes, block.index(), block.count());
    device::Operands operands;
    operands.from[operands.sources++] = call.input + part.begin;
    operands.to[operands.destinations++] = call.output + part.begin;
    block.reduce(operands, part.bytes(), call.reduction, whole(1));
  }
};

/// Errors: those of the lane.
Status allreduce_alone(const AllreduceCall& call, device::Lane& lane);

}  // namespace sennit::coll
