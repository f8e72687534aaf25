#include "coll/reduce_alone.h"

#include <algorithm>

#include "base/units.h"
#include "device/launch.h"

namespace sennit::coll {

unsigned blocks_alone(std::uint64_t bytes) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / (64 * KiB), 1, kMostBlocks));
}

Status reduce_alone(const ReduceCall& call, device::Lane& lane) {
  if (call.bytes == 0) return {};
  if (call.reduction.op == device::Operator::premultiplied_sum)
    return device::launch(lane, ReduceAlone{call}, blocks_alone(call.bytes));
  return call.input == call.output ? Status() : lane.copy(call.output, call.input, call.bytes);
}

}  // namespace sennit::coll
