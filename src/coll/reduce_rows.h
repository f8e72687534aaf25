// Reduces several inputs that are all in this rank's memory to one; no other rank takes part.
#pragma once

#include <span>

#include "coll/reduce_call.h"
#include "device/executor.h"

namespace sennit::coll {

/// Each block reduces its part. At most kMostOperands rows.
struct ReduceRows {
  static constexpr const char* kName = "reduce_rows";
  const std::byte* rows[device::kMostOperands] = {};
  unsigned count = 0;
  std::byte* output = nullptr;
  std::uint64_t bytes = 0;
  device::Reduction reduction;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const auto part = device::part_of(bytes, block.index(), block.count());
    const auto source = [&](unsigned k) -> const void* { return rows[k] + part.begin; };
    const auto destination = [&](unsigned) { return output + part.begin; };
    block.reduce({part.bytes(), count, 1}, source, destination, reduction, {});
  }
};

/// Brings its code to the device: before collectives run that wait for ranks which wait for it (Executor::load).
Status load_reduce_rows(device::Executor& executor, int device);

/// Enqueues the reduction of all `rows`, in their order, to `output`, which may be one of the first kMostOperands.
/// Rows are results of reductions before: operators that scale each input have done so. `bytes`: whole elements.
/// Errors: those of the lane.
Status reduce_rows(std::span<const std::byte* const> rows, std::byte* output, std::uint64_t bytes,
                   const device::Reduction& reduction, device::Lane& lane);

}  // namespace sennit::coll
