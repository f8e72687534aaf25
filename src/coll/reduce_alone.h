// Reduces where a rank is alone: its input is the result, but for what the operator does to each input.
#pragma once

#include "coll/reduce_call.h"
#include "device/lane.h"

namespace sennit::coll {

/// Each block scales its part.
struct ReduceAlone {
  static constexpr const char* kName = "reduce_alone";
  ReduceCall call;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const auto part = device::part_of(call.bytes, block.index(), block.count());
    const auto source = [&](unsigned) -> const void* { return call.input + part.begin; };
    const auto destination = [&](unsigned) { return call.output + part.begin; };
    block.reduce({part.bytes(), 1, 1}, source, destination, call.reduction, whole(1));
  }
};

/// Returns the number of blocks of a launch over so many bytes that waits for no other rank. A default: each has 64
/// KiB, and there are enough of them to fill a GPU.
unsigned blocks_alone(std::uint64_t bytes);

/// Errors: those of the lane.
Status reduce_alone(const ReduceCall& call, device::Lane& lane);

}  // namespace sennit::coll
